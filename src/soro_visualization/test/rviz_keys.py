# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Keys that RViz reads of each class we use; it ignores every other one without a word."""

TOPIC = {
    'Depth',
    'Durability Policy',
    'Filter size',
    'History Policy',
    'Reliability Policy',
    'Value',
}
COMMON = {'Class', 'Enabled', 'Name', 'Value'}
DISPLAYS = {
    'rviz_default_plugins/Grid': COMMON | {
        'Alpha', 'Cell Size', 'Color', 'Line Style', 'Normal Cell Count', 'Offset', 'Plane',
        'Plane Cell Count', 'Reference Frame',
    },
    'rviz_default_plugins/Axes': COMMON | {'Length', 'Radius', 'Reference Frame', 'Alpha'},
    'rviz_default_plugins/TF': COMMON | {
        'Frame Timeout', 'Frames', 'Marker Scale', 'Show Arrows', 'Show Axes', 'Show Names',
        'Tree', 'Update Interval',
    },
    'rviz_default_plugins/RobotModel': COMMON | {
        'Alpha', 'Collision Enabled', 'Description File', 'Description Source',
        'Description Topic', 'Links', 'Mass Properties', 'TF Prefix', 'Update Interval',
        'Visual Enabled',
    },
    'rviz_default_plugins/MarkerArray': COMMON | {'Namespaces', 'Topic'},
    # Not `Update Topic`: that is the class of ROS 1.
    'rviz_default_plugins/InteractiveMarkers': COMMON | {
        'Enable Transparency', 'Interactive Markers Namespace', 'Show Axes', 'Show Descriptions',
        'Show Visual Aids',
    },
    'rviz_default_plugins/PointCloud2': COMMON | {
        'Alpha', 'Autocompute Intensity Bounds', 'Autocompute Value Bounds', 'Axis',
        'Channel Name', 'Color', 'Color Transformer', 'Decay Time', 'Invert Rainbow', 'Max Color',
        'Max Intensity', 'Min Color', 'Min Intensity', 'Position Transformer', 'Selectable',
        'Size (Pixels)', 'Size (m)', 'Style', 'Topic', 'Use Fixed Frame', 'Use rainbow',
    },
    'rviz_default_plugins/Path': COMMON | {
        'Alpha', 'Buffer Length', 'Color', 'Head Diameter', 'Head Length', 'Length', 'Line Style',
        'Line Width', 'Offset', 'Pose Color', 'Pose Style', 'Radius', 'Shaft Diameter',
        'Shaft Length', 'Topic',
    },
    'rviz_default_plugins/Wrench': COMMON | {
        'Accept NaN Values', 'Alpha', 'Arrow Width', 'Force Arrow Scale', 'Force Color',
        'Hide Small Values', 'History Length', 'Topic', 'Torque Arrow Scale', 'Torque Color',
    },
}  # fmt: skip
TOOLS = {
    'rviz_default_plugins/Interact',
    'rviz_default_plugins/MoveCamera',
    'rviz_default_plugins/Select',
    'rviz_default_plugins/FocusCamera',
    'rviz_default_plugins/Measure',
}
PANELS = {'rviz_common/Displays', 'rviz_common/Views'}
