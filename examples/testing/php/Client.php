<?php
/** The program under test: a small client of the service. */
final class Client
{
    public static function pictureOf(string $prompt): string
    {
        $url = getenv("IMAGEKILN_BASE_URL") . "/v1/gen-2-pro";
        $body = json_encode(["prompt" => $prompt, "width" => 64, "height" => 64]);
        [$status, $text] = self::call($url, "POST", $body);
        while (true) {
            if ($status !== 200 && $status < 500) {
                throw new RuntimeException("$status $text");
            }
            $answer = $status === 200 ? json_decode($text, true) : [];
            $polling_url ??= $answer["polling_url"];
            if (($answer["status"] ?? "") === "Ready") {
                return file_get_contents($answer["result"]["sample"]);
            }
            usleep(100_000);
            [$status, $text] = self::call($polling_url, "GET", "");
        }
    }

    /** Returns the status code and the body of the response. */
    private static function call(string $url, string $method, string $body): array
    {
        $headers = ["content-type: application/json", "x-key: " . getenv("IMAGEKILN_API_KEY")];
        $http = ["method" => $method, "content" => $body, "header" => $headers,
            "ignore_errors" => true];
        $text = file_get_contents($url, false, stream_context_create(["http" => $http]));
        return [(int) explode(" ", $http_response_header[0])[1], $text];
    }
}
