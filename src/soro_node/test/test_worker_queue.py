# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Work on a queue leaves the spinning thread free; too much of it is refused."""

import subprocess
import sys
import threading

import pytest
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Int32

from soro_mechanics.core.status import Code
from soro_msgs.action import AnalyzeWorkspace
from soro_msgs.srv import ComputeJacobian
from soro_node.executor.worker_queue import MAX_WAITING, WorkerQueue
from soro_rigs.ros_session import RosSession, wait_for, wait_until

FAULT = [13.0]


class Slow(Node):
    """Everything on its queue waits until it is let go."""

    def __init__(self, **kwargs):
        super().__init__('slow', **kwargs)
        self.go, self.threads, self.taken, self.quick = threading.Event(), set(), [], []
        self.started = threading.Semaphore(0)
        self.queue = WorkerQueue(self, 'work')
        goals = WorkerQueue(self, 'goals', threads=2)
        self.service = self.queue.create_service(ComputeJacobian, '~/ask', self.answer)
        self.action = goals.create_action(AnalyzeWorkspace, '~/act', self.execute)
        self.create_subscription(Int32, 'take', self.queue.newest(self.take), 10)
        self.create_subscription(Int32, 'quick', lambda m: self.quick.append(m.data), 10)

    def wait(self):
        """Note the thread and wait."""
        self.threads.add(threading.current_thread().name)
        self.started.release()
        assert self.go.wait(20.0)

    def answer(self, request, response):
        """Answer a request."""
        self.wait()
        if list(request.actuation) == FAULT:
            raise RuntimeError('not foreseen')
        response.matrix = [float(len(request.actuation))]
        return response

    def execute(self, handle):
        """Execute a goal."""
        self.wait()
        handle.succeed()
        return AnalyzeWorkspace.Result(solved=handle.request.samples)

    def take(self, message):
        """Take a message."""
        self.wait()
        self.taken.append(message.data)


@pytest.fixture
def slow():
    with RosSession() as ros:
        node = ros.node(Slow)
        node.ros = ros
        yield node
        node.go.set()
        node.queue.close()


def client_of(node):
    # As deep as the service's own queue: rclpy's clients forget all but 10 of a burst.
    qos = QoSProfile(depth=2 * MAX_WAITING)
    client = node.ros.client.create_client(ComputeJacobian, '/slow/ask', qos_profile=qos)
    assert client.wait_for_service(10.0)
    return client


def publisher_of(node, topic):
    publisher = node.ros.client.create_publisher(Int32, topic, 10)
    wait_until(publisher.get_subscription_count)
    return publisher


def test_a_long_request_does_not_hold_the_stream_up(slow):
    publisher = publisher_of(slow, 'quick')
    answer = client_of(slow).call_async(ComputeJacobian.Request(actuation=[1.0, 2.0]))
    assert slow.started.acquire(timeout=10.0)
    publisher.publish(Int32(data=7))
    wait_until(lambda: slow.quick == [7])
    assert not answer.done()
    slow.go.set()
    assert list(wait_for(answer).matrix) == [2.0]
    assert {name.split('_')[0] for name in slow.threads} == {'work'}


def test_requests_beyond_the_queue_are_refused_at_once_and_the_others_answered(slow):
    client, extra = client_of(slow), 5
    answers = [
        client.call_async(ComputeJacobian.Request(actuation=[0.0] * i))
        for i in range(MAX_WAITING + 1 + extra)
    ]
    wait_until(lambda: sum(a.done() for a in answers) == extra)
    refused = [a for a in answers if a.done()]
    assert all(a.result().error_code == Code.BUSY for a in refused)
    assert 'ask again later' in refused[0].result().error_message
    slow.go.set()
    for answer in answers:
        wait_for(answer)
    assert sum(a.result().error_code == Code.BUSY for a in answers) == extra
    assert wait_for(client.call_async(ComputeJacobian.Request())).error_code == Code.NONE


def test_answers_come_in_the_order_of_the_requests_each_to_its_own_client(slow):
    clients, order = [client_of(slow), client_of(slow)], []
    answers = []
    for n in range(10):
        request = ComputeJacobian.Request(actuation=[0.0] * n)
        answers.append(clients[n % 2].call_async(request))
        answers[-1].add_done_callback(lambda _, n=n: order.append(n))
        wait_until(lambda n=n: slow.queue._inside == n + 1)
    slow.go.set()
    assert [list(wait_for(a).matrix) for a in answers] == [[float(n)] for n in range(10)]
    # two clients of one executor: the order is that of each of them
    wait_until(lambda: len(order) == 10)
    assert (order_of(order, 0), order_of(order, 1)) == ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9])


def order_of(order, parity):
    return [n for n in order if n % 2 == parity]


def test_an_answer_does_not_wait_for_the_thread_that_spins(slow):
    held, release = threading.Event(), threading.Event()
    answer = client_of(slow).call_async(ComputeJacobian.Request(actuation=[1.0]))
    assert slow.started.acquire(timeout=10.0)

    def hold():
        held.set()
        return release.wait(20.0)

    thread = threading.Thread(target=slow.ros.do, args=(slow, hold))
    thread.start()
    assert held.wait(10.0)
    try:
        slow.go.set()
        assert list(wait_for(answer).matrix) == [1.0]
    finally:
        release.set()
        thread.join()


def test_a_service_that_is_withdrawn_while_it_works_is_no_fault(slow, capfd):
    client_of(slow).call_async(ComputeJacobian.Request())
    assert slow.started.acquire(timeout=10.0)
    slow.ros.do(slow, slow.destroy_service, slow.service)
    slow.go.set()
    publisher_of(slow, 'take').publish(Int32(data=5))
    wait_until(lambda: slow.taken == [5])
    assert 'Traceback' not in capfd.readouterr().err


def test_an_answer_that_raises_is_logged_and_the_lane_goes_on(slow, capfd):
    slow.go.set()
    client = client_of(slow)
    client.call_async(ComputeJacobian.Request(actuation=FAULT))
    answer = client.call_async(ComputeJacobian.Request(actuation=[1.0, 2.0, 3.0]))
    assert list(wait_for(answer).matrix) == [3.0]
    assert 'RuntimeError: not foreseen' in capfd.readouterr().err
    assert slow.queue._inside == 0


def test_of_waiting_messages_the_newest_is_taken(slow):
    publisher = publisher_of(slow, 'take')
    marker = publisher_of(slow, 'quick')
    publisher.publish(Int32(data=1))
    assert slow.started.acquire(timeout=10.0)
    for value in (2, 3, 4):
        publisher.publish(Int32(data=value))
        marker.publish(Int32(data=value))
    wait_until(lambda: slow.quick == [2, 3, 4])
    slow.go.set()
    wait_until(lambda: slow.taken and slow.taken[-1] == 4)
    assert slow.taken[0] == 1 and len(slow.taken) < 5


def test_goals_run_beside_each_other_and_their_results_arrive(slow):
    client = slow.ros.action_client(AnalyzeWorkspace, '/slow/act')
    assert client.wait_for_server(10.0)
    handles = [wait_for(client.send_goal_async(AnalyzeWorkspace.Goal(samples=n))) for n in (3, 4)]
    for _ in handles:
        assert slow.started.acquire(timeout=10.0)
    slow.go.set()
    assert [wait_for(h.get_result_async()).result.solved for h in handles] == [3, 4]
    slow.ros.do(slow, slow.action.destroy)


def test_of_a_burst_of_goals_none_is_lost(slow):
    """Asked for, cancelled and awaited while the thread that spins is busy elsewhere."""
    deep, burst = QoSProfile(depth=2 * MAX_WAITING), range(MAX_WAITING)
    place, names = (slow.ros.client, AnalyzeWorkspace, '/slow/act'), ('goal', 'result', 'cancel')
    qos = {f'{name}_service_qos_profile': deep for name in names}
    client = slow.ros.do(slow.ros.client, ActionClient, *place, **qos)
    assert client.wait_for_server(10.0)

    def at_once(send):
        """Send while nobody takes what arrives."""
        held, release = threading.Event(), threading.Event()
        hold = lambda: held.set() or release.wait(20.0)  # noqa: E731
        thread = threading.Thread(target=slow.ros.do, args=(slow, hold))
        thread.start()
        assert held.wait(10.0)
        answers = [send(i) for i in burst]
        release.set()
        thread.join()
        return [wait_for(answer) for answer in answers]

    handles = at_once(lambda i: client.send_goal_async(AnalyzeWorkspace.Goal(samples=i)))
    assert all(handle.accepted for handle in handles)
    cancelled = at_once(lambda i: handles[i].cancel_goal_async())
    assert all(len(answer.goals_canceling) == 1 for answer in cancelled)
    slow.go.set()
    results = at_once(lambda i: handles[i].get_result_async())
    assert [answer.result.solved for answer in results] == list(burst)
    slow.ros.do(slow.ros.client, client.destroy)


def test_a_closed_lane_does_what_waits_and_ends_its_threads(slow):
    publisher = publisher_of(slow, 'take')
    publisher.publish(Int32(data=1))
    assert slow.started.acquire(timeout=10.0)
    slow.queue.close()
    slow.go.set()
    wait_until(lambda: slow.taken == [1])
    wait_until(lambda: not any(t.name.startswith('work') for t in threading.enumerate()))


def test_a_process_that_is_told_to_end_does_not_wait_for_a_long_solve():
    code = """
import threading, sys
from rclpy.node import Node
from soro_node.executor.worker_queue import WorkerQueue
from soro_node.main import run

class Stuck(Node):
    def __init__(self):
        super().__init__('stuck')
        self.has_started = threading.Event()
        queue = WorkerQueue(self, 'work')
        queue.newest(self.solve)(None)
        self.has_started.wait(10.0)
        print('solving', flush=True)

    def solve(self, message):
        self.has_started.set()
        threading.Event().wait(60.0)

sys.exit(run(Stuck))
"""
    process = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == 'solving\n'
    process.terminate()
    assert process.wait(15.0) == 0
