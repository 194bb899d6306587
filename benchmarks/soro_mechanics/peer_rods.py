# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The cantilevers of `bench_compare` in other libraries, no part of this project.

Run by `bench_compare` with an interpreter that has exudyn, mujoco, pyelastica or some of them.
Argument: the problem as JSON. Prints one JSON object per solve: library, elements, seconds, tip.
"""

import json
import sys
import time

import numpy as np


def exudyn_tip(problem, count):
    """Solve with geometrically exact two-node beams and Newton; the beam axis is x there.

    With every linear solver it offers, the fastest counts: which that is depends on the size.
    """
    import exudyn as exu

    kinds = exu.LinearSolverType
    return min(
        exudyn_solve(problem, count, kind)
        for kind in (kinds.EXUdense, kinds.EigenDense, kinds.EigenSparse)
    )


def exudyn_solve(problem, count, solver):
    """Return processor time and tip with one linear solver."""
    import exudyn as exu
    import exudyn.itemInterface as items

    system = exu.SystemContainer()
    mbs = system.AddSystem()
    length, bending, torsion, axial, shear = (
        problem[k] for k in ('length', 'bending', 'torsion', 'axial', 'shear')
    )
    force = problem['wrench']
    nodes = [
        mbs.AddNode(
            items.NodeRigidBodyRotVecLG(referenceCoordinates=[length * k / count, 0, 0, 0, 0, 0])
        )
        for k in range(count + 1)
    ]
    section = exu.BeamSection()
    section.massPerLength = 1.0
    section.inertia = np.eye(3)
    section.stiffnessMatrix = np.diag([axial, shear, shear, torsion, bending, bending])
    for a, b in zip(nodes[:-1], nodes[1:], strict=True):
        mbs.AddObject(
            items.ObjectBeamGeometricallyExact(
                nodeNumbers=[a, b], length=length / count, sectionData=section
            )
        )
    ground = mbs.AddObject(items.ObjectGround())
    base = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground))
    first = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[0]))
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[base, first]))
    last = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[-1]))
    # ours (x, y, z along the rod) is theirs (z, y, x); load steps scale the load
    mbs.AddLoad(
        items.LoadForceVector(markerNumber=last, loadVector=[force[2], force[1], force[0]])
    )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.staticSolver.numberOfLoadSteps = 5  # faster here than one
    settings.staticSolver.newton.relativeTolerance = 1e-8
    settings.staticSolver.verboseMode = 0
    settings.linearSolver.solverType = solver
    settings.solution.file.write = False
    start = time.process_time()
    if not mbs.SolveStatic(settings):
        raise RuntimeError(f'exudyn does not converge with {count} elements')
    seconds = time.process_time() - start
    x, y, z = mbs.GetNodeOutput(nodes[-1], exu.OutputVariableType.Position)
    return seconds, [z, y, x]


def rest_shape(problem, count):
    """Return nodes (3, count + 1) and directors (3, 3, count), rows in base axes, of the rest rod.

    A director's third row is the chord of its element, which that library insists on.
    """
    from scipy.spatial.transform import Rotation

    curvature = np.array(problem['curvature'])
    step = problem['length'] / (2 * count)
    turns = Rotation.from_rotvec(np.outer(np.arange(2 * count + 1) * step, curvature)).as_matrix()
    # the tangent's integral: fine Gauss sums between the half stations
    at, weight = np.polynomial.legendre.leggauss(4)
    places = (np.arange(2 * count)[:, None] + 0.5 * (1.0 + at)) * step
    tangents = Rotation.from_rotvec(places.reshape(-1, 1) * curvature).as_matrix()[:, :, 2]
    pieces = 0.5 * step * np.einsum('k,nki->ni', weight, tangents.reshape(2 * count, 4, 3))
    points = np.vstack([np.zeros(3), np.cumsum(pieces, axis=0)])[::2]
    chord = np.diff(points, axis=0)
    third = chord / np.linalg.norm(chord, axis=1)[:, None]
    first = turns[1::2, :, 0]
    first = first - np.sum(first * third, axis=1)[:, None] * third
    first /= np.linalg.norm(first, axis=1)[:, None]
    directors = np.stack([first, np.cross(third, first), third])
    return points.T.copy(), directors.transpose(0, 2, 1).copy()


def elastica_tip(problem, count):
    """Let the rod swing to rest: that library has no statics, and damping replaces it.

    The damping is critical for the lowest bending motion of the straight rod. The clock stops when
    the tip has moved by less than 1e-5 rod lengths during a tenth of that period.
    """
    import elastica as ea

    class System(ea.BaseSystemCollection, ea.Constraints, ea.Forcing, ea.Damping):
        pass

    wrench = np.array(problem['wrench'])

    class TipMoment(ea.NoForces):
        def apply_torques(self, system, time=0.0):
            system.external_torques[..., -1] += system.director_collection[..., -1] @ wrench[3:]

    length, radius, young = (problem[k] for k in ('length', 'radius', 'young'))
    points, directors = rest_shape(problem, count)
    density = 1000.0  # statics does not ask for it
    rod = ea.CosseratRod.straight_rod(
        count,
        np.zeros(3),
        np.array([0.0, 0.0, 1.0]),
        np.array([1.0, 0.0, 0.0]),
        length,
        radius,
        density,
        youngs_modulus=young,
        shear_modulus=problem['shear_modulus'],
        position=points,
        directors=directors,
    )
    rod.rest_kappa[:] = rod.kappa  # curved, and at rest like that
    rod.shear_matrix[:2] *= 28.0 / 27.0  # ours has no shear factor
    wave = np.sqrt(young / density)
    # half of what stays stable: a director turning against the shear of its own element
    step = 0.5 * min(length / count / wave, radius / np.sqrt(problem['shear_modulus'] / density))
    period = 2.0 * np.pi / 3.516 * length**2 / (0.5 * radius * wave)
    system = System()
    system.append(rod)
    system.constrain(rod).using(
        ea.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,)
    )
    system.add_forcing_to(rod).using(
        ea.EndpointForces, np.zeros(3), wrench[:3].copy(), ramp_up_time=step
    )
    system.add_forcing_to(rod).using(TipMoment)
    damping = 4.0 * np.pi / period
    system.dampen(rod).using(
        ea.AnalyticalLinearDamper, uniform_damping_constant=damping, time_step=step
    )
    system.finalize()
    stepper = ea.PositionVerlet()
    stepper.step(system, 0.0, 1e-12 * step)  # compiles
    steps = max(1, round(0.1 * period / step))
    time_now, before = 0.0, rod.position_collection[:, -1].copy()
    start = time.process_time()
    for _ in range(200):
        for _ in range(steps):
            time_now = stepper.step(system, time_now, step)
        tip = rod.position_collection[:, -1].copy()
        if np.linalg.norm(tip - before) < 1e-5 * length:
            break
        before = tip
    return time.process_time() - start, tip.tolist()


def mujoco_tip(problem, count):
    """Let rigid links on ball joints with springs swing to rest: that library has no statics.

    Springs EI / h, twice that at the clamp. Implicit steps under much damping, until no joint
    turns faster than 1e-8 rad/s. The chain lies along x.
    """
    import mujoco

    length, radius = problem['length'], problem['radius']
    h = length / count
    spring = problem['bending'] / h
    geom = f'type="capsule" size="{radius}" contype="0" conaffinity="0"'
    links = ''.join(
        f'<body pos="{h if k else 0.0} 0 0"><joint type="ball" damping="{spring}" '
        f'stiffness="{spring * (1 if k else 2)}"/><geom {geom} fromto="0 0 0 {h} 0 0"/>'
        for k in range(count)
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 0" timestep="0.1" integrator="implicit"/><worldbody>'
        f'{links}<site name="tip" pos="{h} 0 0"/>{"</body>" * count}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    # ours (x, y, z along the rod) is theirs (z, y, x)
    push, none = np.array(problem['wrench'][2::-1], float), np.zeros(3)
    start = time.process_time()
    for _ in range(5000):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        data.qfrc_applied[:] = 0.0
        tip = data.site_xpos[0].copy()
        mujoco.mj_applyFT(model, data, push, none, tip, count, data.qfrc_applied)
        mujoco.mj_step(model, data)
        if np.abs(data.qvel).max() < 1e-8:
            break
    x, y, z = tip.tolist()
    return time.process_time() - start, [z, y, x]


# the slowest last: where it is stopped, the others have been
SOLVERS = {'exudyn': exudyn_tip, 'mujoco': mujoco_tip, 'pyelastica': elastica_tip}
COUNTS = {'exudyn': (4, 8, 16, 32, 64, 128), 'pyelastica': (4, 8, 16), 'mujoco': (4, 8, 16, 32)}
ONLY_STRAIGHT = ('exudyn', 'mujoco')  # their beams start straight


def main():
    """Solve what the installed libraries can."""
    problem = json.loads(sys.argv[1])
    for library, solver in SOLVERS.items():
        if any(problem['curvature']) and library in ONLY_STRAIGHT:
            continue
        for count in COUNTS[library]:
            try:
                seconds, tip = solver(problem, count)
            except ImportError:
                print(json.dumps({'library': library, 'absent': True}), flush=True)
                break
            line = {'library': library, 'elements': count, 'seconds': seconds, 'tip': list(tip)}
            print(json.dumps(line), flush=True)


if __name__ == '__main__':
    main()
