import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

/** The program under test: a small client of the service. */
final class Client {
    private final HttpClient http = HttpClient.newHttpClient();
    private final String baseUrl;
    private final String key;

    Client(String baseUrl, String key) {
        this.baseUrl = baseUrl;
        this.key = key;
    }

    byte[] pictureOf(String prompt) throws Exception {
        var body = "{\"prompt\": \"" + prompt + "\", \"width\": 64, \"height\": 64}";
        var submission = request(baseUrl + "/v1/gen-2-pro").POST(BodyPublishers.ofString(body));
        var poll = request(member("polling_url", send(submission).body())).GET();
        while (true) {
            var answer = send(poll);
            if (answer.statusCode() == 200 && member("status", answer.body()).equals("Ready")) {
                var sample = HttpRequest.newBuilder(URI.create(member("sample", answer.body())));
                return http.send(sample.build(), BodyHandlers.ofByteArray()).body();
            }
            if (answer.statusCode() != 200 && answer.statusCode() < 500) {
                throw new IllegalStateException(answer.body());
            }
            Thread.sleep(100);
        }
    }

    private HttpRequest.Builder request(String url) {
        return HttpRequest.newBuilder(URI.create(url))
                .header("x-key", key)
                .header("content-type", "application/json");
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return http.send(request.build(), BodyHandlers.ofString());
    }

    /** The value of a member of a text of JSON. A real client has a parser. */
    static String member(String name, String json) {
        var member = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(json);
        if (!member.find()) {
            throw new IllegalStateException(json);
        }
        return member.group(1);
    }
}
