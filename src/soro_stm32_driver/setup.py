# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
from glob import glob

from setuptools import find_packages, setup

package_name = 'soro_stm32_driver'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        ('share/' + package_name + '/firmware', glob('firmware/*')),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='soro contributors',
    maintainer_email='soro@example.org',
    description='Hardware interface for pneumatic muscles behind an STM32 (serial, Bluetooth).',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [
            'stm32_driver = soro_stm32_driver.node:main',
        ],
        'soro_driver.devices': [
            'stm32 = soro_stm32_driver.device:Stm32Device',
        ],
        'soro_emulation.devices': [
            'stm32 = soro_stm32_driver.emulator.device:Stm32Emulator',
        ],
        'soro_cli.verb': [
            'curves = soro_stm32_driver.curves_verb',
        ],
    },
)
