import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

/** One simulator for all tests of this process, with a method for each call of its control port. */
final class Simulator {
    // Without a proxy: the simulator is on this machine.
    private static final HttpClient HTTP =
            HttpClient.newBuilder().proxy(ProxySelector.of(null)).build();
    private static final Process KILN = start();
    private static final String SETTINGS = settings();
    static final String BASE_URL = setting("base_url");
    static final String API_KEY = setting("api_key");

    private Simulator() {}

    /** Its input ends with this process, and the simulator with its input. */
    private static Process start() {
        try {
            return new ProcessBuilder("kiln", "simulate", "--json", "--port", "0",
                    "--ready-after", "0", "--stop-with-stdin")
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** It prints them as soon as it accepts requests. */
    private static String settings() {
        try {
            return new BufferedReader(new InputStreamReader(KILN.getInputStream())).readLine();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String setting(String name) {
        return member(name, SETTINGS);
    }

    /** Removes all tasks, webhooks, requests and faults. */
    static void reset() throws Exception {
        control("/api/reset", "{}");
    }

    /** Adds a fault, such as {@code html-502@poll:2x}. */
    static void addFault(String rule) throws Exception {
        control("/api/faults", "{\"rule\": \"" + rule + "\"}");
    }

    /** Fails unless this number of requests match the members of a pattern. */
    static void verify(int times, String members) throws Exception {
        var found = control("/api/requests/verify", "{\"times\": " + times + ", " + members + "}");
        if (!found.contains("\"problem\":null")) {
            throw new AssertionError(member("problem", found));
        }
    }

    /** Posts to the control port, which takes no key, and returns the response. */
    static String control(String path, String body) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(setting("control_url") + path))
                .header("content-type", "application/json")
                .POST(BodyPublishers.ofString(body));
        var response = HTTP.send(request.build(), BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new AssertionError(path + ": " + response.statusCode() + " " + response.body());
        }
        return response.body();
    }

    /** The text of a member of JSON. */
    private static String member(String name, String json) {
        var member = Pattern.compile("\"" + name + "\":\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(json);
        if (!member.find()) {
            throw new AssertionError("no " + name + ": " + json);
        }
        return member.group(1).replace("\\n", "\n").replace("\\\"", "\"");
    }
}
