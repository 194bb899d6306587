# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One turn per callback, and awake for whatever other threads do."""

import threading

import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future
from std_srvs.srv import Trigger

from soro_msgs.action import AnalyzeWorkspace
from soro_node.executor.single_executor import SingleExecutor
from soro_node.executor.worker_queue import WorkerQueue

TURNS = 20


@pytest.fixture
def node():
    rclpy.init()
    made = rclpy.create_node('probe')
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


def count_turns(node, executor):
    """Return how often an executor looks at everything while a timer fires so often."""
    looks, fired, done = [], [], Future()
    get_nodes = executor.get_nodes

    def counted():
        looks.append(1)
        return get_nodes()

    def fire():
        fired.append(1)
        if len(fired) == TURNS:
            done.set_result(None)

    executor.get_nodes = counted
    executor.add_node(node)
    timer = node.create_timer(0.01, fire)
    executor.spin_until_future_complete(done, 10.0)
    node.destroy_timer(timer)
    executor.remove_node(node)
    assert len(fired) == TURNS
    return len(looks)


def test_it_looks_once_per_callback_where_rclpy_looks_twice(node):
    assert count_turns(node, SingleThreadedExecutor()) >= 1.8 * TURNS
    assert count_turns(node, SingleExecutor()) <= TURNS + 3


def test_what_another_thread_completes_wakes_it(node):
    executor, done = SingleExecutor(), Future()
    executor.add_node(node)

    def later():
        timer.cancel()
        threading.Timer(0.1, done.set_result, [7]).start()

    timer = node.create_timer(0.01, later)
    executor.spin_until_future_complete(done, 10.0)  # nothing else happens meanwhile
    assert done.result() == 7


def test_a_timer_that_another_thread_makes_is_taken_up(node):
    executor, done = SingleExecutor(), Future()
    executor.add_node(node)
    threading.Timer(0.1, node.create_timer, [0.01, lambda: done.set_result(1)]).start()
    executor.spin_until_future_complete(done, 10.0)
    assert done.done()


def test_what_a_callback_begins_is_taken_up(node):
    executor, done = SingleExecutor(), Future()
    executor.add_node(node)

    async def answer(request, response):
        await executor.create_task(lambda: None)
        response.success = True
        return response

    node.create_service(Trigger, 'ask', answer)
    client = node.create_client(Trigger, 'ask')

    def ask():
        if client.service_is_ready():
            timer.cancel()
            client.call_async(Trigger.Request()).add_done_callback(done.set_result)

    timer = node.create_timer(0.01, ask)
    executor.spin_until_future_complete(done, 10.0)
    assert done.result().result().success


def test_a_goal_that_a_lane_executes_ends(node):
    executor, done, queue = SingleExecutor(), Future(), WorkerQueue(node, 'goals')
    executor.add_node(node)

    def execute(handle):
        threading.Event().wait(0.2)
        handle.succeed()
        return AnalyzeWorkspace.Result(error_message='executed')

    server = queue.create_action(AnalyzeWorkspace, 'work', execute)
    client = ActionClient(node, AnalyzeWorkspace, 'work')

    def send():
        if client.server_is_ready():
            timer.cancel()
            client.send_goal_async(AnalyzeWorkspace.Goal()).add_done_callback(accepted)

    def accepted(future):
        future.result().get_result_async().add_done_callback(done.set_result)

    timer = node.create_timer(0.01, send)
    executor.spin_until_future_complete(done, 10.0)
    assert done.result().result().result.error_message == 'executed'
    queue.close()
    client.destroy()
    server.destroy()
