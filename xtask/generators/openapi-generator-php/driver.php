<?php
// Makes a picture with the client of openapi-generator's `php`.

use OpenAPI\Client\Api\GenerationApi;
use OpenAPI\Client\Api\TasksApi;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\Gen2Pro;

const MAX_POLLS = 100;

require "GuzzleHttp/autoload.php";
// Loads the generated classes as Composer would, which would download Guzzle.
spl_autoload_register(function ($name) {
    $path = str_replace(["OpenAPI\\Client\\", "\\"], ["generated/lib/", "/"], $name);
    require __DIR__ . "/$path.php";
});

$configuration = (new Configuration())
    ->setHost(getenv("IMAGEKILN_BASE_URL"))
    ->setApiKey("x-key", getenv("IMAGEKILN_API_KEY"));
$request = new Gen2Pro([
    "prompt" => "a red fox in the snow", "width" => 256, "height" => 256, "seed" => 7,
]);
$task = (new GenerationApi(config: $configuration))->gen2Pro($request);
$tasks = new TasksApi(config: $configuration);
for ($polls = 1; $polls <= MAX_POLLS; $polls++) {
    $poll = $tasks->getResult($task->getId());
    if ($poll->getStatus() === "Ready") {
        copy($poll->getResult()->getSample(), $argv[1]);
        echo $polls;
        exit;
    }
    usleep(100_000);
}
throw new Exception("the task {$task->getId()} was not ready after " . MAX_POLLS . " polls");
