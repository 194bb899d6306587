# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Contact of balls on the bodies with planes, spheres and boxes that stand still.

Normal force of Hunt and Crossley 1975 (J. Appl. Mech. 42(2)) on Hertz's law, for a ball that is
pressed in by d:

    F = k d^1.5 (1 + a d'), never a pull,

and Coulomb's friction mu F against the sliding velocity u, with u / sqrt(u^2 + s^2) in place of
its direction: what sticks creeps slower than s, the slip speed.

Source: Hunt and Crossley 1975, J. Appl. Mech. 42(2), for the normal force; the rest is derived
here and checked by differences and an ODE in test_dynamics_contact.py.
"""

import math

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.network.kernels.element_kernels import relative_pose
from soro_mechanics.numerics.lie_kernels import hat3

PLANE, SPHERE, BOX = range(3)


@kernel
def _distance(shape, size, y, n):
    """Return how far a point is outside a solid [m], and write the normal n (3,), out.

    y_z of a plane; |y| - size_x of a sphere; of a box |max(|y| - size / 2, 0)|, and within it the
    largest of |y| - size / 2. shape: PLANE, SPHERE or BOX; size (3,) [m]; y (3,): the point in the
    solid's axes [m].
    """
    deepest = -math.inf
    far = 0.0
    for i in range(3):
        n[i] = y[i]
        if shape == PLANE:
            n[i] = 1.0 if i == 2 else 0.0
        elif shape == BOX:
            out = abs(y[i]) - 0.5 * size[i]
            deepest = max(deepest, out)
            n[i] = math.copysign(max(out, 0.0), y[i])
        far += n[i] * n[i]
    far = math.sqrt(far)
    if shape == BOX and far == 0.0:  # inside: out by the nearest face
        for i in range(3):
            nearest = abs(y[i]) - 0.5 * size[i] == deepest
            n[i] = math.copysign(1.0, y[i]) if nearest else 0.0
        return deepest
    for i in range(3):
        n[i] /= max(far, 1e-300)
    if shape == PLANE:
        return y[2]
    return far - size[0] if shape == SPHERE else far


@kernel
def add_contacts(state, x, m):
    """Add the contact wrenches to x.follower, their tangents to m.body_tangent; write m.touch.

    The tangent leaves out what turns the normal on a round surface. Above the slip speed, and
    while sliding changes by more than half of it, the slope of friction is taken to the origin
    instead of along the curve, which Newton's method would overshoot. state: State; x: Inputs; m:
    Motion.
    """
    for i in range(m.ball.body.shape[0]):
        for k in range(m.solid.shape.shape[0]):
            _touch(state.body, x.follower, m, i, k)


@kernel
def _touch(body, follower, m, i, k):
    """Write what solid k does to ball i, see `add_contacts`.

    f = F n - mu F u / q with q = sqrt(u^2 + s^2); stored 2/5 k d^2.5 [J], lost (k d^1.5 - F) n.v +
    mu F u^2 / q [W]. body (bodies, 4, 4): poses; follower (bodies, 6): out, in their axes; m:
    Motion.
    """
    h = m.touch_work[0:4, 0:4]
    arm = m.touch_work[4:7, 0:3]
    normal = m.touch_work[7:10, 0:3]
    tangent = m.touch_work[10:13, 0:6]
    y = m.touch_work[13]
    n = m.touch_work[14]
    lever = m.touch_work[15]
    v = m.touch_work[16]
    f = m.touch_work[17]
    ball, solid, touch = m.ball, m.solid, m.touch
    b, centre, radius = ball.body[i], ball.centre[i], ball.radius[i]
    force_on, slide = touch.force[i, k], touch.sliding[i, k]
    friction, slip, dissipation = solid.friction[k], solid.slip[k], solid.dissipation[k]
    speed = m.law[0, 0]
    relative_pose(solid.place[k], body[b], h)
    for j in range(3):
        y[j] = h[j, 3]
        for c in range(3):
            y[j] += h[j, c] * centre[c]
    deep = radius - _distance(solid.shape[k], solid.size[k], y, v)
    if not deep > 0.0:
        touch.stored[i, k] = touch.lost[i, k] = 0.0
        for j in range(3):
            force_on[j] = slide[j] = 0.0
        return
    # in the body's axes: normal, where it touches, the velocity there
    for j in range(3):
        n[j] = h[0, j] * v[0] + h[1, j] * v[1] + h[2, j] * v[2]
        lever[j] = centre[j] - radius * n[j]
    hat3(lever, arm)
    hat3(n, normal)
    for j in range(6):
        v[j] = speed * m.body_move[b, j] + m.body_free[b, 0, j]
    apart = 0.0
    for j in range(3):
        v[j] -= arm[j, 0] * v[3] + arm[j, 1] * v[4] + arm[j, 2] * v[5]
        apart += n[j] * v[j]
    square = changed = 0.0
    for j in range(3):
        v[j] -= apart * n[j]
        square += v[j] * v[j]
        changed += (v[j] - slide[j]) ** 2
        slide[j] = v[j]
    elastic = solid.stiffness[k] * deep * math.sqrt(deep)
    factor = max(0.0, 1.0 - dissipation * apart)
    force = elastic * factor
    q = math.sqrt(square + slip**2)
    rub = friction * force / q
    touch.stored[i, k] = 0.4 * elastic * deep
    touch.lost[i, k] = (elastic - force) * apart + rub * square
    # force by the approach of the centre, and by the velocity
    slower = elastic * dissipation * speed if factor > 0.0 else 0.0
    press = 1.5 * force / deep + slower
    falls = square <= slip**2 or 4.0 * changed <= square
    bend = rub / (q * q) if falls else 0.0
    for j in range(3):
        f[j] = force * n[j] - rub * slide[j]
        push = press * (n[j] - friction / q * slide[j])
        for c in range(3):
            across = (1.0 if j == c else 0.0) - n[j] * n[c]
            drag = rub * across - bend * slide[j] * slide[c]
            tangent[j, c] = -push * n[c] - speed * drag
    for j in range(3):
        force_on[j] = body[b, j, 0] * f[0] + body[b, j, 1] * f[1] + body[b, j, 2] * f[2]
        follower[b, j] += f[j]
        for c in range(3):
            follower[b, 3 + j] += arm[j, c] * f[c]
            tangent[j, 3 + c] = force * normal[j, c]
            for o in range(3):
                tangent[j, 3 + c] -= tangent[j, o] * arm[o, c]
    for c in range(6):
        for j in range(3):
            m.body_tangent[b, j, c] -= tangent[j, c]
            for o in range(3):
                m.body_tangent[b, 3 + j, c] -= arm[j, o] * tangent[o, c]
