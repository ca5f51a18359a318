<?php
/** One simulator for all tests of this process. */
final class Simulator
{
    private static mixed $kiln = null;
    private static array $pipes = [];
    private static array $settings = [];

    public static function start(): void
    {
        if (self::$kiln !== null) {
            return;
        }
        $command = ["kiln", "simulate", "--json", "--port", "0", "--ready-after", "0",
            "--stop-with-stdin"];
        // Its input ends with this process, and the simulator with its input.
        $pipes = [["pipe", "r"], ["pipe", "w"], STDERR];
        self::$kiln = proc_open($command, $pipes, self::$pipes);
        // It prints its settings as soon as it accepts requests.
        $line = self::$kiln ? fgets(self::$pipes[1]) : false;
        if ($line === false) {
            throw new RuntimeException("kiln simulate failed");
        }
        self::$settings = json_decode($line, true);
        foreach (self::$settings as $name => $value) {
            putenv("IMAGEKILN_" . strtoupper($name) . "=$value");
        }
    }

    /** Posts to the control port, which takes no key, and returns the response. */
    public static function control(string $path, array $body): array
    {
        $http = ["method" => "POST", "content" => json_encode((object) $body),
            "header" => "content-type: application/json", "ignore_errors" => true];
        $url = self::$settings["control_url"] . $path;
        $text = file_get_contents($url, false, stream_context_create(["http" => $http]));
        if (!str_contains($http_response_header[0], " 200 ")) {
            throw new RuntimeException("$path: $http_response_header[0] $text");
        }
        return json_decode($text, true);
    }

    /** Removes all tasks, webhooks, requests and faults. */
    public static function reset(): void
    {
        self::control("/api/reset", []);
    }

    /** Adds a fault, such as `html-502@poll:2x`. */
    public static function addFault(string $rule): void
    {
        self::control("/api/faults", ["rule" => $rule]);
    }

    /** What is wrong unless this number of requests match the pattern, or null. */
    public static function problem(int $times, array $pattern): ?string
    {
        return self::control("/api/requests/verify", ["times" => $times] + $pattern)["problem"];
    }
}
