# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
# Dependencies stand in pyproject.toml, the version in package.xml.
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

package_name = 'soro_mechanics'

setup(
    name=package_name,
    version=ElementTree.parse(Path(__file__).with_name('package.xml')).findtext('version'),
    packages=find_packages(exclude=['test']),
    package_data={
        package_name: ['py.typed', 'robot.schema.json', 'robots/*.yaml', 'robots/examples/*.yaml']
    },
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    license='Apache-2.0',
    python_requires='>=3.10',
    zip_safe=False,
)
