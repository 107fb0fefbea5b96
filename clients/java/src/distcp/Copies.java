import java.io.IOException;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.tools.DistCp;
import org.apache.hadoop.tools.OptionsParser;
import org.apache.hadoop.tools.mapred.CopyMapper;

/** Runs Hadoop's DistCp in this process, between two buckets of the cluster of ozone-site.xml. */
public final class Copies {
  /** Of files: empty, less than a chunk, chunks and a bit. */
  private static final int[] SIZES = {0, 1, 1000, 5_000_001, 9_000_000};
  /** Small files that change in some way between two snapshots. */
  private static final String[] OLD = {
    "moved/changed", "moved/gone", "moved/named", "moved/kept", "doomed/gone", "doomed/saved", "left", "right", "replaced", "over"
  };
  private static final Path SOURCE = new Path("/distcp/source");
  private static final Path TARGET = new Path("/distcp/target");
  private static final Path TREE = new Path(SOURCE, "tree");
  private static final Path COPY = new Path(TARGET, "tree");

  private final Configuration conf;
  private final FileSystem files;

  private Copies(Configuration conf, FileSystem files) {
    this.conf = conf;
    this.files = files;
  }

  public static int run(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.addResource("ozone-site.xml");
    URI root = URI.create("ofs://" + conf.get("ozone.om.address") + "/");
    conf.set("fs.defaultFS", root.toString());
    conf.set("mapreduce.framework.name", "local");
    // Ozone reports all that is in a new directory, too; looked through, each would be there twice.
    conf.setBoolean("distcp.diff.copy.listing.traverse.directory", false);
    conf.set("hadoop.tmp.dir", System.getProperty("test.build.data"));
    try (FileSystem files = FileSystem.newInstance(root, conf)) {
      new Copies(conf, files).run();
    }
    return 0;
  }

  private void run() throws Exception {
    for (int n = 0; n < SIZES.length; n++) {
      write(new Path(TREE, "d" + n % 2 + "/file" + n), SIZES[n], n);
    }
    files.mkdirs(new Path(TREE, "hollow"));
    files.mkdirs(COPY);
    expect("copied", SIZES.length, copy(TREE, COPY, "-update").findCounter(CopyMapper.Counter.COPY).getValue());
    compare(SIZES.length + 4);
    // What is equal by its checksum is not copied again, what is not is.
    write(new Path(TREE, "d0/file2"), SIZES[2], 99);
    expect("skipped", SIZES.length - 1, copy(TREE, COPY, "-update").findCounter(CopyMapper.Counter.SKIP).getValue());
    compare(SIZES.length + 4);
    System.out.println(SIZES.length + " files copied by DistCp, with the same checksums");
    follow();
  }

  /** What changed between two snapshots is copied, deleted and renamed; nothing else is copied. */
  private void follow() throws Exception {
    for (String name : OLD) {
      write(new Path(SOURCE, name), SIZES[2], name.hashCode());
    }
    files.createSnapshot(SOURCE, "first");
    copy(new Path(SOURCE, ".snapshot/first"), TARGET, "-update");
    files.createSnapshot(TARGET, "first");

    write(new Path(SOURCE, "tree/d0/new"), SIZES[3], 1);
    write(new Path(SOURCE, "tree/d1/file3"), SIZES[4], 2);
    delete("tree/d1/file1");
    rename("doomed/saved", "saved");
    delete("doomed");
    rename("tree/d0/file2", "tree/hollow/file2");
    // A directory under another name, in a new one, and what is in it not as it was.
    files.mkdirs(new Path(SOURCE, "fresh/empty"));
    rename("moved", "fresh/moved");
    write(new Path(SOURCE, "fresh/moved/changed"), SIZES[2], 3);
    write(new Path(SOURCE, "fresh/moved/new"), SIZES[2], 4);
    delete("fresh/moved/gone");
    rename("fresh/moved/named", "fresh/moved/other");
    write(new Path(SOURCE, "fresh/deep/er/file"), SIZES[1], 5);
    // Two names change places, one takes that of another.
    rename("left", "middle");
    rename("right", "left");
    rename("middle", "right");
    delete("replaced");
    rename("over", "replaced");
    files.createSnapshot(SOURCE, "second");
    follow("first", "second", 5, 23);

    // The target as it is now is where the next difference begins.
    files.createSnapshot(TARGET, "second");
    rename("fresh", "stale");
    write(new Path(SOURCE, "tree/d0/new"), SIZES[2], 6);
    files.createSnapshot(SOURCE, "third");
    follow("second", "third", 1, 23);
  }

  private void follow(String from, String to, int copied, int present) throws Exception {
    Counters counters = copy(SOURCE, TARGET, "-update", "-diff", from, to);
    expect("copied", copied, counters.findCounter(CopyMapper.Counter.COPY).getValue());
    compare(present);
    System.out.println(copied + " files copied by DistCp from " + from + " to " + to + ", " + present + " paths are equal");
  }

  private void write(Path path, int size, int seed) throws IOException {
    byte[] content = new byte[size];
    new Random(seed).nextBytes(content);
    try (FSDataOutputStream out = files.create(path, true)) {
      out.write(content);
    }
    CRC32 crc = new CRC32();
    crc.update(content);
    String expected = String.format("COMPOSITE-CRC32:0x%08x", crc.getValue());
    // Of nothing, the client says that of files without checksums.
    if (size > 0 && !checksum(path).equals(expected)) {
      throw new AssertionError(path + " has " + checksum(path) + ", its content " + expected);
    }
  }

  private void delete(String name) throws IOException {
    if (!files.delete(new Path(SOURCE, name), true)) {
      throw new AssertionError(name + " was not deleted");
    }
  }

  private void rename(String from, String to) throws IOException {
    if (!files.rename(new Path(SOURCE, from), new Path(SOURCE, to))) {
      throw new AssertionError(from + " was not renamed to " + to);
    }
  }

  private Counters copy(Path from, Path to, String... words) throws Exception {
    String[] all = Arrays.copyOf(words, words.length + 4);
    System.arraycopy(new String[] {"-m", "2", from.toString(), to.toString()}, 0, all, words.length, 4);
    Job job = new DistCp(conf, OptionsParser.parse(all)).execute();
    if (!job.isSuccessful()) {
      throw new AssertionError("the job failed: " + job.getStatus().getFailureInfo());
    }
    return job.getCounters();
  }

  /** Both buckets have the same paths, so many, with the same content. */
  private void compare(int paths) throws IOException {
    TreeMap<String, String> from = everything(SOURCE);
    TreeMap<String, String> to = everything(TARGET);
    if (from.size() != paths || !from.equals(to)) {
      throw new AssertionError("copied " + from + ", which became " + to);
    }
  }

  private TreeMap<String, String> everything(Path bucket) throws IOException {
    TreeMap<String, String> found = new TreeMap<>();
    ArrayDeque<Path> directories = new ArrayDeque<>();
    directories.add(bucket);
    while (!directories.isEmpty()) {
      for (FileStatus status : files.listStatus(directories.remove())) {
        String name = status.getPath().toUri().getPath().substring(bucket.toString().length());
        if (status.isDirectory()) {
          directories.add(status.getPath());
          found.put(name, "directory");
        } else {
          found.put(name, status.getLen() + " bytes, " + checksum(status.getPath()));
        }
      }
    }
    return found;
  }

  private String checksum(Path path) throws IOException {
    return files.getFileChecksum(path).toString();
  }

  private static void expect(String what, long expected, long found) {
    if (found != expected) {
      throw new AssertionError(found + " files " + what + ", expected " + expected);
    }
  }
}
