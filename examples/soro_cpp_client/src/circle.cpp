// Copyright 2026 soro contributors
// SPDX-License-Identifier: Apache-2.0
//
// Moves the tip of a robot on a circle of 2 mm through where it stands; ends when it is stopped.
//   ros2 run soro_cpp_client circle --ros-args -r __ns:=/stiff_flop
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <optional>

#include <geometry_msgs/msg/pose_stamped.hpp>
#include <rclcpp/rclcpp.hpp>
#include <soro_msgs/msg/actuator_state.hpp>
#include <soro_msgs/msg/tip_target.hpp>
#include <std_srvs/srv/trigger.hpp>

using namespace std::chrono_literals;
using std_srvs::srv::Trigger;

static volatile std::sig_atomic_t ended = 0;

int main(int argc, char ** argv)
{
  // Ctrl-C ends the loop, not the context: the robot is to be let go of.
  rclcpp::init(argc, argv, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
  std::signal(SIGINT, [](int) {ended = 1;});
  auto node = std::make_shared<rclcpp::Node>("circle");
  const auto newest = rclcpp::SensorDataQoS().keep_last(1);
  std::optional<geometry_msgs::msg::PoseStamped> start;
  std::optional<uint32_t> stops;
  auto tip = node->create_subscription<geometry_msgs::msg::PoseStamped>(
    "tip_pose", newest, [&](const geometry_msgs::msg::PoseStamped & message) {
      if (!start) {start = message;}
    });
  auto state = node->create_subscription<soro_msgs::msg::ActuatorState>(
    "actuator_state", newest, [&](const soro_msgs::msg::ActuatorState & message) {
      if (stops && *stops != message.stops) {ended = 1;}  // never argue with a stop
      stops = message.stops;
    });
  auto targets = node->create_publisher<soro_msgs::msg::TipTarget>("tip_target", rclcpp::QoS(1));
  double angle = 0.0;
  auto timer = node->create_wall_timer(50ms, [&]() {
      if (!start || !stops || ended) {return;}
      soro_msgs::msg::TipTarget target;
      target.header.stamp = node->now();
      target.header.frame_id = start->header.frame_id;
      target.source = node->get_fully_qualified_name();
      target.stops = *stops;  // the planner refuses targets from before a stop
      target.pose = start->pose;  // task 0: its position must be met
      target.pose.position.x += 0.002 * (std::cos(angle) - 1.0);
      target.pose.position.y += 0.002 * std::sin(angle);
      targets->publish(target);
      angle += 0.03;
    });
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node);
  while (!ended) {executor.spin_once(50ms);}
  // The planner would hold the last target for ever.
  auto release = node->create_client<Trigger>("trajectory_planner/release");
  auto answer = release->async_send_request(std::make_shared<Trigger::Request>());
  executor.spin_until_future_complete(answer, 2s);
  rclcpp::shutdown();
  return 0;
}
