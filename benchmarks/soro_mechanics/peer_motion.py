# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The rod in motion of `bench_dynamics` in other libraries, no part of this project.

Run with an interpreter that has exudyn, mujoco or one of them. Argument: the problem
as JSON. Prints one JSON object per motion: library, version, elements, step, seconds, path.
"""

from importlib.metadata import version
import json
import sys
import time

import numpy as np


def force_at(problem, t):
    """Return the force on the tip (x, y, z along the rod) [N]: it grows, and turns."""
    part = np.sin(0.5 * np.pi * min(t / problem['ramp'], 1.0)) ** 2 if problem['ramp'] else 1.0
    size, turn = part * problem['force'], problem['turn'] * t
    return np.array([size * np.cos(turn), size * np.sin(turn), 0.0])


def exudyn_path(problem, count, step):
    """Planar geometrically exact two-node beams, generalised-alpha; the axis is x there."""
    import exudyn as exu
    import exudyn.itemInterface as items

    if problem['turn']:
        raise ImportError('its beams in space do not converge here')
    system = exu.SystemContainer()
    mbs = system.AddSystem()
    h, loss = problem['length'] / count, problem['retardation']
    nodes = [
        mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[h * k, 0, 0]))
        for k in range(count + 1)
    ]
    for a, b in zip(nodes[:-1], nodes[1:], strict=True):
        beam = mbs.AddObject(
            items.ObjectBeamGeometricallyExact2D(
                nodeNumbers=[a, b],
                physicsLength=h,
                physicsMassPerLength=problem['mass'],
                physicsCrossSectionInertia=0.25 * problem['mass'] * problem['radius'] ** 2,
                physicsBendingStiffness=problem['bending'],
                physicsAxialStiffness=problem['axial'],
                physicsShearStiffness=problem['shear'],
                physicsBendingDamping=loss * problem['bending'],
                physicsAxialDamping=loss * problem['axial'],
                physicsShearDamping=loss * problem['shear'],
            )
        )
        mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=beam))
        # ours (x, z along the rod) is theirs (y, x)
        weight = [problem['gravity'], 0.0, 0.0]
        mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=weight))
    fixed = mbs.AddNode(items.NodePointGround())
    base = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
    for k in range(3):
        first = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        mbs.AddObject(items.CoordinateConstraint(markerNumbers=[base, first]))
    last = mbs.AddMarker(items.MarkerNodePosition(nodeNumber=nodes[-1]))

    def push(_mbs, t, _load):
        return [0.0, force_at(problem, t)[0], 0.0]

    mbs.AddLoad(
        items.LoadForceVector(
            markerNumber=last, loadVector=[0.0, 0.0, 0.0], loadVectorUserFunction=push
        )
    )
    tip = mbs.AddSensor(
        items.SensorNode(
            nodeNumber=nodes[-1],
            storeInternal=True,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = problem['duration']
    settings.timeIntegration.numberOfSteps = round(problem['duration'] / step)
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = problem['sample']
    start = time.process_time()
    if not mbs.SolveDynamic(settings):
        raise RuntimeError(f'exudyn does not converge with {count} elements')
    seconds = time.process_time() - start
    rows = np.array(mbs.GetSensorStoredData(tip))
    times = problem['sample'] * np.arange(1, round(problem['duration'] / problem['sample']) + 1)
    found = np.array([np.interp(times, rows[:, 0], c) for c in rows[:, 1:4].T]).T
    return seconds, found[:, [1, 2, 0]]


def mujoco_path(problem, count, step):
    """Rigid links on ball joints with springs EI / h, twice that at the clamp; along x."""
    import mujoco

    h, radius = problem['length'] / count, problem['radius']
    spring, loss = problem['bending'] / h, problem['retardation']
    heavy = f'type="capsule" size="{radius}" mass="{problem["mass"] * h}"'
    links = ''.join(
        f'<body pos="{h if k else 0.0} 0 0">'
        f'<joint type="ball" stiffness="{(2 - (k > 0)) * spring}"'
        f' damping="{(2 - (k > 0)) * spring * loss}"/>'
        f'<geom {heavy} fromto="0 0 0 {h} 0 0" contype="0" conaffinity="0"/>'
        for k in range(count)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="{problem["gravity"]} 0 0" timestep="{step}" '
        f'integrator="implicitfast"/><worldbody>{links}<site name="tip" pos="{h} 0 0"/>'
        f'{"</body>" * count}</worldbody></mujoco>'
    )
    data, none, path = mujoco.MjData(model), np.zeros(3), []
    every = round(problem['sample'] / step)
    start = time.process_time()
    for k in range(round(problem['duration'] / step)):
        data.qfrc_applied[:] = 0.0
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        push = force_at(problem, data.time)[::-1].copy()
        mujoco.mj_applyFT(model, data, push, none, data.site_xpos[0], count, data.qfrc_applied)
        mujoco.mj_step(model, data)
        if (k + 1) % every == 0:
            mujoco.mj_kinematics(model, data)
            path.append(data.site_xpos[0][::-1].copy())
    return time.process_time() - start, np.array(path)


MOTIONS = (
    ('exudyn', exudyn_path, ((40, 2e-3),)),
    ('mujoco', mujoco_path, ((40, 2e-3), (40, 5e-4))),
)


def main():
    """Move what the installed libraries can."""
    problem = json.loads(sys.argv[1])
    for library, motion, meshes in MOTIONS:
        for count, step in problem.get('meshes', {}).get(library, meshes):
            try:
                seconds, path = motion(problem, count, step)
                line = {'seconds': seconds, 'path': path.tolist(), 'version': version(library)}
            except ImportError as error:
                line = {'absent': str(error)}
            print(
                json.dumps({'library': library, 'elements': count, 'step': step, **line}),
                flush=True,
            )


if __name__ == '__main__':
    main()
