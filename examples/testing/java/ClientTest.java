import static org.junit.Assert.assertEquals;

import org.junit.Before;
import org.junit.Test;

public final class ClientTest {
    @Before
    public void reset() throws Exception {
        Simulator.reset();
    }

    @Test
    public void aFailedPollIsRepeated() throws Exception {
        Simulator.addFault("html-502@poll:2x");
        var picture = new Client(Simulator.BASE_URL, Simulator.API_KEY).pictureOf("a red fox");
        assertEquals((byte) 0xff, picture[0]);
        Simulator.verify(2, "\"fault\": \"html-502\"");
        Simulator.verify(1, "\"method\": \"POST\"");
    }
}
