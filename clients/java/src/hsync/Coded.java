import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Files of an erasure-coded bucket beside those of a replicated one, on the cluster that the class path's
 * ozone-site.xml names: they cannot be synced while they are written, and the same bytes have the same checksum.
 */
public final class Coded {
  /** In a cell, a cell and one byte, a stripe of rs-3-2-1024k, and several with a part. */
  private static final int[] LENGTHS = {1, 1000, (1 << 20) + 1, 3 << 20, 10_000_000};

  private static int wrong;

  private Coded() {
  }

  public static int run(String[] args) throws IOException {
    wrong = 0;
    Configuration conf = new Configuration();
    conf.addResource("ozone-site.xml");
    for (String key : new String[] {"ozone.fs.hsync.enabled", "ozone.hbase.enhancements.allowed",
        "ozone.client.hbase.enhancements.allowed"}) {
      conf.set(key, "true");
    }
    conf.set("ozone.client.checksum.combine.mode", "COMPOSITE_CRC");
    URI root = URI.create("ofs://" + conf.get("ozone.om.address") + "/");
    try (FileSystem files = FileSystem.newInstance(root, conf)) {
      refusesSyncs(files, new Path(args[0], "synced"));
      for (int length : LENGTHS) {
        haveOneChecksum(files, length, new Path(args[0], "sum-" + length), new Path(args[1], "sum-" + length));
      }
    }
    System.out.printf("files of an erasure-coded bucket: %d wrong%n", wrong);
    return wrong == 0 ? 0 : 1;
  }

  private static void refusesSyncs(FileSystem files, Path path) throws IOException {
    byte[] content = new byte[5_000_000];
    new Random(1).nextBytes(content);
    try (FSDataOutputStream out = files.create(path)) {
      out.write(content, 0, 4_000_000);
      check("hsync is refused", refuses(out::hsync));
      check("hflush is refused", refuses(out::hflush));
      out.write(content, 4_000_000, 1_000_000);
    }
    try (var in = files.open(path)) {
      check("what was written around it is there", Arrays.equals(content, in.readAllBytes()));
    }
  }

  private interface Sync {
    void run() throws IOException;
  }

  private static boolean refuses(Sync sync) throws IOException {
    try {
      sync.run();
      return false;
    } catch (UnsupportedOperationException e) {
      System.out.println("refused: " + e.getMessage());
      return true;
    }
  }

  private static void haveOneChecksum(FileSystem files, int length, Path coded, Path replicated) throws IOException {
    byte[] content = new byte[length];
    new Random(length).nextBytes(content);
    for (Path path : new Path[] {coded, replicated}) {
      try (FSDataOutputStream out = files.create(path)) {
        out.write(content);
      }
    }
    FileChecksum ours = files.getFileChecksum(coded);
    FileChecksum theirs = files.getFileChecksum(replicated);
    System.out.printf("%d bytes: %s%n", length, ours);
    check("composite checksum of " + length + ": " + ours, ours != null && ours.getAlgorithmName().contains("COMPOSITE"));
    check("the same of " + length + " replicated: " + theirs, ours != null && ours.equals(theirs));
  }

  private static void check(String what, boolean holds) {
    if (!holds) {
      wrong++;
      System.out.println("not so: " + what);
    }
  }
}
