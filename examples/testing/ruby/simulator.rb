# One simulator for all tests of this process.
require "json"
require "net/http"

module Simulator
  # Its input ends with this process, and the simulator with its input. It prints its settings as soon
  # as it accepts requests.
  KILN = IO.popen(%w[kiln simulate --json --port 0 --ready-after 0 --stop-with-stdin], "r+")
  SETTINGS = JSON.parse(KILN.gets || abort("kiln simulate failed"))
  SETTINGS.each { |name, value| ENV["IMAGEKILN_#{name.upcase}"] = value }

  # Posts to the control port, which takes no key, and returns the response.
  def self.control(path, body)
    url = URI(SETTINGS["control_url"] + path)
    # Without a proxy: the simulator is on this machine.
    response = Net::HTTP.start(url.host, url.port, nil) do |http|
      http.post(url.path, body.to_json, "content-type" => "application/json")
    end
    raise "#{path}: #{response.code} #{response.body}" unless response.is_a?(Net::HTTPOK)
    JSON.parse(response.body)
  end

  # Removes all tasks, webhooks, requests and faults.
  def self.reset = control("/api/reset", {})

  # Adds a fault, such as `html-502@poll:2x`.
  def self.add_fault(rule) = control("/api/faults", { rule: rule })

  # What is wrong unless this number of requests match the pattern, or nil.
  def self.problem(times, **pattern)
    control("/api/requests/verify", { times: times, **pattern })["problem"]
  end
end
