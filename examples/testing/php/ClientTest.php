<?php
require_once __DIR__ . "/Client.php";
require_once __DIR__ . "/Simulator.php";

final class ClientTest extends PHPUnit\Framework\TestCase
{
    protected function setUp(): void
    {
        Simulator::start();
        Simulator::reset();
    }

    public function testAFailedPollIsRepeated(): void
    {
        Simulator::addFault("html-502@poll:2x");
        $this->assertStringStartsWith("\xff\xd8", Client::pictureOf("a red fox"));
        $this->assertNull(Simulator::problem(2, ["fault" => "html-502"]));
        $this->assertNull(Simulator::problem(1, ["method" => "POST"]));
    }
}
