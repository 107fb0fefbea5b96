import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.contract.AbstractFSContract;
import org.apache.hadoop.fs.contract.ContractOptions;

/** What Ozone's file systems promise of what Hadoop's tests can ask for. */
final class OzoneContract extends AbstractFSContract implements ContractOptions {
  /** A key is visible when its stream is closed, not before, as in an object store. */
  private static final List<String> PROMISED = List.of(
      IS_CASE_SENSITIVE, IS_BLOBSTORE, CREATE_VISIBILITY_DELAYED, RENAME_RETURNS_FALSE_IF_SOURCE_MISSING,
      RENAME_RETURNS_FALSE_IF_DEST_EXISTS, SUPPORTS_GETFILESTATUS, SUPPORTS_STRICT_EXCEPTIONS, SUPPORTS_SEEK,
      SUPPORTS_SEEK_ON_CLOSED_FILE, REJECTS_SEEK_PAST_EOF, SUPPORTS_UNBUFFER);

  /**
   * Renames are atomic in some layouts only; the published client reports a missing key as another exception when it
   * sets times.
   */
  private static final List<String> NOT_PROMISED = List.of(
      SUPPORTS_APPEND, SUPPORTS_CONCAT, SUPPORTS_ATOMIC_RENAME, SUPPORTS_ATOMIC_DIRECTORY_DELETE, SUPPORTS_BLOCK_LOCALITY,
      SUPPORTS_UNIX_PERMISSIONS, SUPPORTS_SETTIMES, RENAME_REMOVE_DEST_IF_EMPTY_DIR);

  private final Mode mode;

  OzoneContract(Mode mode, Configuration conf) {
    super(conf);
    this.mode = mode;
    PROMISED.forEach(option -> conf.setBoolean(getConfKey(option), true));
    NOT_PROMISED.forEach(option -> conf.setBoolean(getConfKey(option), false));
    conf.setBoolean(getConfKey(TEST_ROOT_TESTS_ENABLED), mode.rootIsABucket());
    conf.setInt(getConfKey(TEST_RANDOM_SEEK_COUNT), 20);
    mode.configure(conf);
    List.of(SUPPORTS_HSYNC, SUPPORTS_HFLUSH).forEach(option -> conf.setBoolean(getConfKey(option), syncs(conf)));
  }

  /** Off unless the cluster's configuration says otherwise. */
  static boolean syncs(Configuration conf) {
    return conf.getBoolean("ozone.fs.hsync.enabled", false);
  }

  @Override
  public FileSystem getTestFileSystem() throws IOException {
    return mode.open(getConf());
  }

  @Override
  public String getScheme() {
    return mode.scheme;
  }

  @Override
  public Path getTestPath() {
    return mode.home();
  }
}
