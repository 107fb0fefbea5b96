import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.tools.DistCp;
import org.apache.hadoop.tools.DistCpOptions;
import org.apache.hadoop.tools.mapred.CopyMapper;

/** Hadoop's DistCp, its job in this process, between two buckets of the cluster that ozone-site.xml names. */
public final class Copies {
  /** Of files: empty, less than a chunk, chunks and a bit. */
  private static final int[] SIZES = {0, 1, 1000, 5_000_001, 9_000_000};
  private static final Path SOURCE = new Path("/distcp/source/tree");
  private static final Path TARGET = new Path("/distcp/target/tree");

  private final Configuration conf;
  private final FileSystem files;

  private Copies(Configuration conf, FileSystem files) {
    this.conf = conf;
    this.files = files;
  }

  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.addResource("ozone-site.xml");
    URI root = URI.create("ofs://" + conf.get("ozone.om.address") + "/");
    conf.set("fs.defaultFS", root.toString());
    conf.set("mapreduce.framework.name", "local");
    conf.set("hadoop.tmp.dir", System.getProperty("test.build.data"));
    try (FileSystem files = FileSystem.newInstance(root, conf)) {
      new Copies(conf, files).run();
    }
    // Threads of the client and of the job may linger.
    System.exit(0);
  }

  private void run() throws Exception {
    for (int n = 0; n < SIZES.length; n++) {
      write(new Path(SOURCE, "d" + n % 2 + "/file" + n), SIZES[n], n);
    }
    files.mkdirs(new Path(SOURCE, "hollow"));
    files.mkdirs(TARGET);
    expect("copied", SIZES.length, copy(CopyMapper.Counter.COPY));
    compare();
    // What is equal by its checksum is not copied again, what is not is.
    write(new Path(SOURCE, "d0/file2"), SIZES[2], 99);
    expect("skipped", SIZES.length - 1, copy(CopyMapper.Counter.SKIP));
    compare();
    System.out.println(SIZES.length + " files copied by DistCp, with the same checksums");
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

  private long copy(CopyMapper.Counter counter) throws Exception {
    DistCpOptions.Builder options = new DistCpOptions.Builder(Arrays.asList(SOURCE), TARGET).withSyncFolder(true).maxMaps(2);
    Job job = new DistCp(conf, options.build()).execute();
    if (!job.isSuccessful()) {
      throw new AssertionError("the job failed: " + job.getStatus().getFailureInfo());
    }
    return job.getCounters().findCounter(counter).getValue();
  }

  private void compare() throws IOException {
    TreeMap<String, String> from = checksums(SOURCE);
    TreeMap<String, String> to = checksums(TARGET);
    if (from.size() != SIZES.length || !from.equals(to)) {
      throw new AssertionError("copied " + from + ", which became " + to);
    }
    if (!files.getFileStatus(new Path(TARGET, "hollow")).isDirectory()) {
      throw new AssertionError("the empty directory is missing");
    }
  }

  private TreeMap<String, String> checksums(Path directory) throws IOException {
    TreeMap<String, String> found = new TreeMap<>();
    RemoteIterator<LocatedFileStatus> all = files.listFiles(directory, true);
    while (all.hasNext()) {
      LocatedFileStatus file = all.next();
      String name = file.getPath().toUri().getPath().substring(directory.toString().length());
      found.put(name, file.getLen() + " bytes, " + checksum(file.getPath()));
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
