import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Verifies a viewer session without calling the service for each, and without a library: its public keys are enough.
 * The token comes on stdin.
 */
public class VerifySession {
    static final String SERVICE_URL = System.getenv("SERVICE_URL");
    /** The environment, such as acme/Customer: in another one, the same number is another customer. */
    static final String AUDIENCE = System.getenv("AUDIENCE");
    /** The header Origin of the request that presents the session. Programs send none. */
    static final String ORIGIN = System.getenv("ORIGIN");

    public static void main(String[] args) throws Exception {
        String token = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).strip();
        try {
            Map<?, ?> claims = verify(token, fetchKeys());
            String viewer = quote(claims.get("viewer_id"));
            long teamId = ((Double) claims.get("team_id")).longValue();
            System.out.println("{\"team_id\":" + teamId + ",\"viewer\":" + viewer + "}");
        } catch (GeneralSecurityException | IllegalArgumentException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }

    /** The public keys by their ids. Keep them for five minutes, and fetch them again for an unknown id. */
    static Map<String, PublicKey> fetchKeys() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(SERVICE_URL + "/.well-known/jwks.json")).build();
        String body = HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();

        AlgorithmParameters curve = AlgorithmParameters.getInstance("EC");
        curve.init(new ECGenParameterSpec("secp256r1"));
        ECParameterSpec p256 = curve.getParameterSpec(ECParameterSpec.class);
        Map<String, PublicKey> keys = new HashMap<>();
        for (Object each : (List<?>) Json.object(body).get("keys")) {
            Map<?, ?> jwk = (Map<?, ?>) each;
            BigInteger x = new BigInteger(1, decode((String) jwk.get("x")));
            BigInteger y = new BigInteger(1, decode((String) jwk.get("y")));
            ECPublicKeySpec spec = new ECPublicKeySpec(new ECPoint(x, y), p256);
            keys.put((String) jwk.get("kid"), KeyFactory.getInstance("EC").generatePublic(spec));
        }
        return keys;
    }

    /** The claims of a session that is valid now. */
    static Map<?, ?> verify(String token, Map<String, PublicKey> keys) throws GeneralSecurityException {
        String[] parts = token.split("\\.", -1);
        if (parts.length != 3) throw new SignatureException("The token is no JWT.");
        Map<?, ?> header = Json.object(text(parts[0]));
        PublicKey key = keys.get(header.get("kid"));
        if (!"ES256".equals(header.get("alg")) || !"JWT".equals(header.get("typ")) || key == null)
            throw new SignatureException("The token is not signed with a key of this service.");

        // A JWT has the two numbers of the signature one after the other, and not as DER.
        Signature signature = Signature.getInstance("SHA256withECDSAinP1363Format");
        signature.initVerify(key);
        signature.update((parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
        if (!signature.verify(decode(parts[2]))) throw new SignatureException("The signature is wrong.");

        Map<?, ?> claims = Json.object(text(parts[1]));
        if (!SERVICE_URL.equals(claims.get("iss"))) throw new SignatureException("The token is of another issuer.");
        if (!AUDIENCE.equals(claims.get("aud"))) throw new SignatureException("The token is for another audience.");
        if (Instant.now().getEpochSecond() >= (Double) claims.get("exp"))
            throw new SignatureException("The token has expired.");
        if (ORIGIN != null && claims.get("origins") instanceof List<?> origins && !origins.contains(ORIGIN))
            throw new SignatureException("The session is for pages of other origins.");
        return claims;
    }

    static byte[] decode(String base64url) {
        return Base64.getUrlDecoder().decode(base64url);
    }

    static String text(String base64url) {
        return new String(decode(base64url), StandardCharsets.UTF_8);
    }

    static String quote(Object value) {
        return value == null ? "null" : "\"" + ((String) value).replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    /** Reads JSON as Map, List, String, Double, Boolean and null. If you have a JSON library, use that instead. */
    static class Json {
        private static final int DEPTH_MAX = 64;
        private static final Pattern SCALAR =
            Pattern.compile("(-?\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?)|(true|false)|null|\"((?:[^\"\\\\]|\\\\.)*+)\"");
        private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))");
        private final String text;
        private int at = 0;
        private int depth = 0;

        private Json(String text) {
            this.text = text;
        }

        static Map<?, ?> object(String text) {
            Json json = new Json(text);
            if (json.value() instanceof Map<?, ?> object && json.at == text.length()) return object;
            throw new IllegalArgumentException("This is not a JSON object.");
        }

        private Object value() {
            if (++depth > DEPTH_MAX) throw new IllegalArgumentException("This JSON is too deep.");
            Object value = take('{') ? members() : take('[') ? items() : scalar();
            depth--;
            skipBlanks();
            return value;
        }

        private Map<String, Object> members() {
            Map<String, Object> members = new HashMap<>();
            if (take('}')) return members;
            do {
                skipBlanks();
                if (!(scalar() instanceof String name)) throw new IllegalArgumentException("A name is not a string.");
                expect(':');
                members.put(name, value());
            } while (take(','));
            expect('}');
            return members;
        }

        private List<Object> items() {
            List<Object> items = new ArrayList<>();
            if (take(']')) return items;
            do items.add(value());
            while (take(','));
            expect(']');
            return items;
        }

        private Object scalar() {
            Matcher found = SCALAR.matcher(text).region(at, text.length());
            if (!found.lookingAt()) throw new IllegalArgumentException("This is not JSON.");
            at = found.end();
            if (found.group(1) != null) return Double.valueOf(found.group(1));
            if (found.group(2) != null) return Boolean.valueOf(found.group(2));
            if (found.group(3) == null) return null;
            return ESCAPE.matcher(found.group(3)).replaceAll(escape -> Matcher.quoteReplacement(unescape(escape)));
        }

        private static String unescape(MatchResult escape) {
            if (escape.group(1) != null) return String.valueOf((char) Integer.parseInt(escape.group(1), 16));
            int known = "bfnrt".indexOf(escape.group(2));
            return known < 0 ? escape.group(2) : "\b\f\n\r\t".substring(known, known + 1);
        }

        private void expect(char wanted) {
            if (!take(wanted)) throw new IllegalArgumentException("This JSON lacks a " + wanted + ".");
        }

        private boolean take(char wanted) {
            skipBlanks();
            boolean isThere = at < text.length() && text.charAt(at) == wanted;
            if (isThere) at++;
            return isThere;
        }

        private void skipBlanks() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
        }
    }
}
