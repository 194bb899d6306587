# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup

package_name = 'soro_cli'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='soro contributors',
    maintainer_email='soro@example.org',
    description='The soro command.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [
            'soro = soro_cli.main:main',
            'recorder = soro_recording.recorder_main:main',  # its old place, until 0.3
        ],
        'soro_cli.verb': [
            'calibrate = soro_cli.verbs.calibrate',
            'compare = soro_cli.verbs.compare',
            'compliance = soro_cli.verbs.compliance',
            'completion = soro_cli.verbs.completion',
            'demo = soro_cli.verbs.demo',
            'doctor = soro_cli.verbs.doctor',
            'estop = soro_cli.verbs.estop',
            'fk = soro_cli.verbs.fk',
            'haptics = soro_cli.verbs.haptics',
            'identify = soro_cli.verbs.identify',
            'ik = soro_cli.verbs.ik',
            'info = soro_cli.verbs.info',
            'jacobian = soro_cli.verbs.jacobian',
            'launch = soro_cli.verbs.launch',
            'list = soro_cli.verbs.list_robots',
            'move = soro_cli.verbs.move',
            'new = soro_cli.verbs.new',
            'plot = soro_cli.verbs.plot',
            'record = soro_cli.verbs.record',
            'simulate = soro_cli.verbs.simulate',
            'stop = soro_cli.verbs.stop',
            'track = soro_cli.verbs.track',
            'view = soro_cli.verbs.view',
            'workspace = soro_cli.verbs.workspace',
        ],
    },
)
