# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup

package_name = 'soro_can_driver'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        ('share/' + package_name + '/dbc', ['dbc/motor_board.dbc']),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='soro contributors',
    maintainer_email='soro@example.org',
    description='Hardware interface for a CAN motor board with flex sensors (python-can).',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [
            'can_driver = soro_can_driver.node:main',
        ],
        'soro_driver.devices': [
            'can = soro_can_driver.device:CanDevice',
        ],
        'soro_emulation.devices': [
            'can = soro_can_driver.emulator.device:CanEmulator',
        ],
    },
)
