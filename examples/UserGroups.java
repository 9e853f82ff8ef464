import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

/** The life of a user group, with java.net.http. Run it with: java UserGroups.java */
class UserGroups {
    static final String SERVICE_URL = System.getenv("SERVICE_URL");
    static final String API_KEY = System.getenv("API_KEY");
    static final HttpClient CLIENT = HttpClient.newHttpClient();

    public static void main(String[] arguments) throws Exception {
        var id = arguments.length > 0 ? arguments[0] : "example";
        var created = call("GET", """
            {"user_group_id": "%s", "name": "Acme", "properties": {"region": "eu"}}""".formatted(id));
        var updated = call("PUT", """
            {"user_group_id": "%s", "name": "Caf\u00e9 Acme"}""".formatted(id));
        var old = text(updated, "token");
        var rotated = call("POST", """
            {"current_token": "%s"}""".formatted(old));
        var token = text(rotated, "token");
        var viewed = send(request("/api/viewer", token).GET().build());
        call("DELETE", """
            {"current_token": "%s"}""".formatted(token));

        System.out.printf("{\"created\":%b,\"updated\":\"%s\",\"rotated\":%b,\"viewed\":\"%s\",\"deleted\":true}%n",
            created.contains("\"new_user_group\":true"), text(updated, "name"), !token.equals(old), text(viewed, "name"));
    }

    /** A GET too takes a body through method(). That of ofString has a known length, which is sent. */
    static String call(String method, String body) throws Exception {
        return send(request("/api/user", API_KEY).method(method, BodyPublishers.ofString(body)).build());
    }

    static HttpRequest.Builder request(String path, String credential) {
        return HttpRequest.newBuilder(URI.create(SERVICE_URL + path))
            .header("Authorization", "Token " + credential)
            .header("Content-Type", "application/json");
    }

    static String send(HttpRequest request) throws Exception {
        var response = CLIENT.send(request, BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            System.err.println(text(response.body(), "code") + ": " + text(response.body(), "message"));
            System.exit(1);
        }
        return response.body();
    }

    /** The JDK reads no JSON; use the library that you have. */
    static String text(String json, String field) {
        var found = Pattern.compile("\"" + field + "\":\"([^\"]*)\"").matcher(json);
        return found.find() ? found.group(1) : "";
    }
}
