// A simulator for tests in C#, a small client under test, and a test. It runs with Mono and .NET, and
// with any test runner: this one is `Main`.
using System;
using System.Diagnostics;
using System.Net.Http;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Threading;
using System.Xml;
using System.Xml.Linq;

/// One simulator for all tests of this process.
static class Simulator
{
    // Without a proxy: the simulator is on this machine.
    static readonly HttpClient Http = new HttpClient(new HttpClientHandler { UseProxy = false });
    static readonly Process Kiln = Start();
    // It prints them as soon as it accepts requests.
    static readonly XElement Settings = Json(Kiln.StandardOutput.ReadLine());
    public static readonly string BaseUrl = Settings.Element("base_url").Value;
    public static readonly string ApiKey = Settings.Element("api_key").Value;

    /// Its input ends with this process, and the simulator with its input.
    static Process Start()
    {
        var options = "simulate --json --port 0 --ready-after 0 --stop-with-stdin";
        return Process.Start(new ProcessStartInfo("kiln", options)
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        });
    }

    /// Posts to the control port, which takes no key, and returns the response.
    public static XElement Control(string path, string body)
    {
        var content = new StringContent(body, Encoding.UTF8, "application/json");
        var url = Settings.Element("control_url").Value + path;
        var response = Http.PostAsync(url, content).Result;
        var text = response.Content.ReadAsStringAsync().Result;
        if (!response.IsSuccessStatusCode) throw new Exception($"{path}: {text}");
        return Json(text);
    }

    /// Fails unless this number of requests match the members of a pattern.
    public static void Verify(int times, string members)
    {
        var found = Control("/api/requests/verify", $"{{\"times\": {times}, {members}}}");
        var problem = found.Element("problem").Value;
        if (problem != "") throw new Exception(problem);
    }

    public static XElement Json(string text)
    {
        var bytes = Encoding.UTF8.GetBytes(text);
        var reader = JsonReaderWriterFactory.CreateJsonReader(bytes, XmlDictionaryReaderQuotas.Max);
        return XElement.Load(reader);
    }
}

static class Client
{
    static readonly HttpClient Http = new HttpClient();

    public static byte[] PictureOf(string prompt)
    {
        var body = $"{{\"prompt\": \"{prompt}\", \"width\": 64, \"height\": 64}}";
        var url = Simulator.BaseUrl + "/v1/gen-2-pro";
        var task = Call(HttpMethod.Post, url, new StringContent(body, Encoding.UTF8, "application/json"));
        while (true)
        {
            var answer = Call(HttpMethod.Get, task.Element("polling_url").Value, null);
            if (answer != null && answer.Element("status").Value == "Ready")
            {
                var sample = answer.Element("result").Element("sample").Value;
                return Http.GetByteArrayAsync(sample).Result;
            }
            Thread.Sleep(100);
        }
    }

    /// The response, or null if the service failed.
    static XElement Call(HttpMethod method, string url, HttpContent content)
    {
        var request = new HttpRequestMessage(method, url) { Content = content };
        request.Headers.Add("x-key", Simulator.ApiKey);
        var response = Http.SendAsync(request).Result;
        if ((int)response.StatusCode >= 500) return null;
        return Simulator.Json(response.EnsureSuccessStatusCode().Content.ReadAsStringAsync().Result);
    }
}

static class ClientTest
{
    static void Main()
    {
        Simulator.Control("/api/reset", "{}");
        Simulator.Control("/api/faults", "{\"rule\": \"html-502@poll:2x\"}");
        var picture = Client.PictureOf("a red fox");
        if (picture[0] != 0xff || picture[1] != 0xd8) throw new Exception("no picture");
        Simulator.Verify(2, "\"fault\": \"html-502\"");
        Simulator.Verify(1, "\"method\": \"POST\"");
        Console.WriteLine("passed");
    }
}
