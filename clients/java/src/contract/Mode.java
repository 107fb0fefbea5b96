import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A file system of the cluster that Hadoop's tests are run on, and how many of them Apache Ozone 2.2.0 passes there. */
enum Mode {
  /** Volumes and buckets are the upper directories; a bucket of directories. */
  OFS_FSO("ofs", "FILE_SYSTEM_OPTIMIZED", 194),
  /** The same with a bucket whose keys are paths. */
  OFS_LEGACY("ofs", "LEGACY", 194),
  /** A bucket is the root: the tests that empty the root are run too. */
  O3FS_FSO("o3fs", "FILE_SYSTEM_OPTIMIZED", 203),
  /** A bucket of directories whose files are erasure-coded; who runs the tests makes it beforehand. */
  OFS_EC("ofs", "FILE_SYSTEM_OPTIMIZED", 194);

  private static final String VOLUME = "contract";

  final String scheme;
  final int passedByOzone;
  private final String layout;

  Mode(String scheme, String layout, int passedByOzone) {
    this.scheme = scheme;
    this.layout = layout;
    this.passedByOzone = passedByOzone;
  }

  /** The file systems that the tests are run on when none is named: those that need three DataNodes only. */
  static List<Mode> usual() {
    return Arrays.stream(values()).filter(mode -> mode != OFS_EC).toList();
  }

  boolean rootIsABucket() {
    return scheme.equals("o3fs");
  }

  private String bucket() {
    return name().toLowerCase().replace('_', '-');
  }

  /** The folder that the tests keep to. */
  Path home() {
    return new Path((rootIsABucket() ? "" : "/" + VOLUME + "/" + bucket()) + "/home");
  }

  void configure(Configuration conf) {
    conf.addResource("ozone-site.xml");
    conf.set("ozone.client.fs.default.bucket.layout", layout);
    conf.set("fs.defaultFS", root(conf).toString());
  }

  /** Opens the file system; its bucket is made where it is missing, as any client of ofs may. */
  FileSystem open(Configuration conf) throws IOException {
    FileSystem everything = FileSystem.get(URI.create("ofs://" + om(conf) + "/"), conf);
    everything.mkdirs(new Path("/" + VOLUME + "/" + bucket()));
    return FileSystem.get(root(conf), conf);
  }

  private URI root(Configuration conf) {
    return URI.create(scheme + "://" + (rootIsABucket() ? bucket() + "." + VOLUME + "." : "") + om(conf) + "/");
  }

  private static String om(Configuration conf) {
    return conf.get("ozone.om.address");
  }
}
