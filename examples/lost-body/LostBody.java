import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

/** LostBody.java ID: a chunked GET by java.net.http, whose body may not arrive. Prints the answer. */
class LostBody {
    public static void main(String[] arguments) throws Exception {
        var body = "{\"user_group_id\": \"%s\"}".formatted(arguments[0]).getBytes("UTF-8");
        var request = HttpRequest.newBuilder(URI.create(System.getenv("SERVICE_URL") + "/api/user"))
            .header("Authorization", "Token " + System.getenv("API_KEY"))
            .header("Content-Type", "application/json")
            .method("GET", BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body)))
            .build();
        System.out.println(HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body());
    }
}
