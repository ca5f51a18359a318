require "minitest/autorun"
require_relative "client"
require_relative "simulator"

class ClientTest < Minitest::Test
  def setup = Simulator.reset

  def test_a_failed_poll_is_repeated
    Simulator.add_fault("html-502@poll:2x")
    assert picture_of("a red fox").b.start_with?("\xff\xd8".b)
    assert_nil Simulator.problem(2, fault: "html-502")
    assert_nil Simulator.problem(1, method: "POST")
  end
end
