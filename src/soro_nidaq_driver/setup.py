# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup

package_name = 'soro_nidaq_driver'

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
    description='Hardware interface for NI-DAQ devices (nidaqmx, local or gRPC).',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [
            'nidaq_driver = soro_nidaq_driver.node:main',
        ],
        'soro_driver.devices': [
            'nidaq = soro_nidaq_driver.device:NidaqDevice',
        ],
        'soro_emulation.devices': [
            'nidaq = soro_nidaq_driver.emulator.device:NidaqEmulator',
        ],
    },
)
