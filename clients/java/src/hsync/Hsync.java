import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LeaseRecoverable;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;

/**
 * Files that are read while they are written, and files whose writer is gone, on the cluster that the class path's
 * ozone-site.xml names. Chunks of 1 MiB; the server's blocks have 8 MiB.
 */
public final class Hsync {
  private static final int CHUNK = 1 << 20;
  private static final int BLOCK = 8 << 20;
  /**
   * Written before one sync each: a chunk, in a chunk, up to its end, one, over chunks, over a block, and little again.
   * The chunk comes first: the published client makes no checksum of a block whose first chunk is smaller than others.
   */
  private static final int[] PIECES = {CHUNK, 1, 999, CHUNK - 1000, CHUNK, 3 * CHUNK + 500_000, BLOCK, 17, 0, 2 * BLOCK + 5};
  private static final int UNSYNCED = 2 * CHUNK + 77;
  private static final long PATIENCE_MS = 20_000;

  private static final Map<String, Map<String, String>> WAYS = Map.of(
      "plain", Map.of(),
      "incremental", Map.of("ozone.client.incremental.chunk.list", "true"),
      "piggybacked", Map.of("ozone.client.stream.putblock.piggybacking", "true"),
      "both", Map.of("ozone.client.incremental.chunk.list", "true", "ozone.client.stream.putblock.piggybacking", "true"));

  private final String way;
  private final FileSystem writer;
  private final FileSystem other;
  private final byte[] content;
  private int wrong;

  private Hsync(String way, FileSystem writer, FileSystem other) {
    this.way = way;
    this.writer = writer;
    this.other = other;
    this.content = new byte[Arrays.stream(PIECES).sum() + UNSYNCED];
    new Random(way.hashCode()).nextBytes(content);
  }

  public static int run(String[] args) throws IOException {
    int wrong = 0;
    for (String way : args.length == 0 ? new String[] {"plain", "incremental", "piggybacked", "both"} : args) {
      Configuration conf = new Configuration();
      conf.addResource("ozone-site.xml");
      WAYS.get(way).forEach(conf::set);
      URI root = URI.create("ofs://" + conf.get("ozone.om.address") + "/");
      try (FileSystem writer = FileSystem.newInstance(root, conf); FileSystem other = FileSystem.newInstance(root, conf)) {
        Hsync hsync = new Hsync(way, writer, other);
        writer.mkdirs(new Path("/hsync/files"));
        hsync.attempt("a file that is closed", Hsync::isReadWhileWritten);
        hsync.attempt("a file whose writer is gone", Hsync::isRecovered);
        wrong += hsync.wrong;
      }
    }
    System.out.printf("hsync: %d wrong%n", wrong);
    return wrong == 0 ? 0 : 1;
  }

  private interface Step {
    void run(Hsync hsync) throws IOException, InterruptedException;
  }

  private void attempt(String what, Step step) {
    try {
      step.run(this);
    } catch (IOException | InterruptedException | RuntimeException e) {
      wrong++;
      System.out.printf("%s: %s:%n", way, what);
      e.printStackTrace(System.out);
    }
  }

  private void isReadWhileWritten() throws IOException, InterruptedException {
    Path path = new Path("/hsync/files/" + way + "-closed");
    int written;
    try (FSDataOutputStream out = writer.create(path)) {
      check("has hsync", out.hasCapability(StreamCapabilities.HSYNC));
      check("has hflush", out.hasCapability("hflush"));
      written = writeAndSync(path, out);
      check("is open", !((LeaseRecoverable) other).isFileClosed(path));
      out.write(content, written, UNSYNCED);
      written += UNSYNCED;
    }
    check("is closed", ((LeaseRecoverable) other).isFileClosed(path));
    check("length of closed " + length(path), length(path) == written);
    check("content of closed", Arrays.equals(content, read(path)));

    Path whole = new Path("/hsync/files/" + way + "-whole");
    try (FSDataOutputStream out = other.create(whole)) {
      out.write(content);
    }
    check("checksum of writer", writer.getFileChecksum(path).equals(other.getFileChecksum(path)));
    check("checksum without syncs", other.getFileChecksum(path).equals(other.getFileChecksum(whole)));
    System.out.printf("%s: %d bytes, %d syncs: %s%n", way, written, PIECES.length, other.getFileChecksum(path));
  }

  private void isRecovered() throws IOException, InterruptedException {
    Path path = new Path("/hsync/files/" + way + "-abandoned");
    FSDataOutputStream out = writer.create(path);
    int synced = writeAndSync(path, out);
    out.write(content, synced, UNSYNCED);

    LeaseRecoverable recoverer = (LeaseRecoverable) other;
    check("abandoned is open", !recoverer.isFileClosed(path));
    long begin = System.currentTimeMillis();
    String refused = null;
    for (boolean done = false; !done;) {
      try {
        done = recoverer.recoverLease(path);
      } catch (IOException e) {
        refused = e.getMessage();
        if (System.currentTimeMillis() - begin > PATIENCE_MS) {
          throw e;
        }
      }
      Thread.sleep(200);
    }
    check("soft limit, not " + refused, refused != null && refused.contains("soft limit"));
    check("abandoned is closed", recoverer.isFileClosed(path));
    check("recovers twice", recoverer.recoverLease(path));
    byte[] back = read(path);
    check("recovered " + back.length + " of " + synced, back.length >= synced && back.length <= content.length);
    check("length of recovered " + length(path), length(path) == back.length);
    check("content of recovered", Arrays.equals(back, Arrays.copyOf(content, back.length)));
    check("checksum of recovered", writer.getFileChecksum(path).equals(other.getFileChecksum(path)));
    try {
      out.close();
      check("writer learns of it", false);
    } catch (IOException e) {
      check("after the writer's close", Arrays.equals(back, read(path)));
    }
    System.out.printf("%s: %d bytes recovered, %d synced%n", way, back.length, synced);
  }

  /** Writes and syncs piece by piece; after each the other client reads all of it. */
  private int writeAndSync(Path path, FSDataOutputStream out) throws IOException {
    int synced = 0;
    boolean flush = false;
    for (int piece : PIECES) {
      out.write(content, synced, piece);
      synced += piece;
      if (flush) {
        out.hflush();
      } else {
        out.hsync();
      }
      flush = !flush;
      byte[] seen = read(path);
      check("visible " + seen.length + " of " + synced, seen.length >= synced);
      check("content at " + synced, Arrays.equals(seen, Arrays.copyOf(content, seen.length)));
    }
    return synced;
  }

  private long length(Path path) throws IOException {
    return other.getFileStatus(path).getLen();
  }

  private byte[] read(Path path) throws IOException {
    try (FSDataInputStream in = other.open(path)) {
      return in.readAllBytes();
    }
  }

  private void check(String what, boolean holds) {
    if (!holds) {
      wrong++;
      System.out.printf("%s: wrong: %s%n", way, what);
    }
  }
}
