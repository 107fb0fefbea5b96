import java.io.IOException;
import java.net.URI;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Operations per second of Ozone's own file system client: empty files created, looked up, renamed, listed and
 * deleted in one directory of a FILE_SYSTEM_OPTIMIZED bucket, by threads that share a connection.
 *
 * <p>Arguments: files, threads, connections. A first pass over a fifth of the files warms both ends up.
 */
public final class Rate {
  private static final int LISTS = 10;

  private final List<FileSystem> connections;
  private final ExecutorService threads;
  private final int width;

  private Rate(List<FileSystem> connections, ExecutorService threads, int width) {
    this.connections = connections;
    this.threads = threads;
    this.width = width;
  }

  public static void main(String[] args) throws Exception {
    int files = Integer.parseInt(args[0]);
    int width = Integer.parseInt(args[1]);
    Configuration conf = new Configuration();
    conf.addResource("ozone-site.xml");
    URI root = URI.create("ofs://" + conf.get("ozone.om.address") + "/");
    List<FileSystem> connections = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(args[2]); i++) {
      // Hadoop's client has one connection for each user and address.
      UserGroupInformation user =
          i == 0 ? UserGroupInformation.getCurrentUser() : UserGroupInformation.createRemoteUser("rate" + i);
      connections.add(user.doAs((PrivilegedExceptionAction<FileSystem>) () -> FileSystem.newInstance(root, conf)));
    }
    ExecutorService threads = Executors.newFixedThreadPool(width);
    Rate rate = new Rate(connections, threads, width);
    rate.pass(new Path("/rate/files/warm" + System.nanoTime()), Math.max(files / 5, 1), false);
    rate.pass(new Path("/rate/files/run" + System.nanoTime()), files, true);
    threads.shutdown();
    for (FileSystem connection : connections) {
      connection.close();
    }
  }

  private void pass(Path directory, int files, boolean show) throws Exception {
    connections.get(0).mkdirs(directory);
    measure("create", files, show, (fs, i) -> fs.create(new Path(directory, "a" + i), false).close());
    measure("getFileStatus", files, show, (fs, i) -> fs.getFileStatus(new Path(directory, "a" + i)));
    measure("rename", files, show, (fs, i) -> require(fs.rename(new Path(directory, "a" + i), new Path(directory, "b" + i))));
    long start = System.nanoTime();
    for (int i = 0; i < LISTS; i++) {
      require(count(connections.get(0).listStatusIterator(directory)) == files);
    }
    if (show) {
      print("list, 1 thread (entries)", (long) LISTS * files, start, null);
    }
    measure("delete", files, show, (fs, i) -> require(fs.delete(new Path(directory, "b" + i), false)));
    require(connections.get(0).delete(directory, true));
  }

  private interface Operation {
    void run(FileSystem fs, int index) throws IOException;
  }

  private void measure(String name, int count, boolean show, Operation operation) throws Exception {
    long[] nanos = new long[count];
    List<Callable<Void>> shares = new ArrayList<>();
    for (int thread = 0; thread < width; thread++) {
      int first = thread;
      FileSystem fs = connections.get(thread % connections.size());
      shares.add(() -> {
        for (int i = first; i < count; i += width) {
          long before = System.nanoTime();
          operation.run(fs, i);
          nanos[i] = System.nanoTime() - before;
        }
        return null;
      });
    }
    long start = System.nanoTime();
    for (Future<Void> share : threads.invokeAll(shares)) {
      share.get();
    }
    if (show) {
      print(name, count, start, nanos);
    }
  }

  private static void print(String name, long count, long start, long[] nanos) {
    double seconds = (System.nanoTime() - start) / 1e9;
    String line = String.format("%-26s %,10.0f/s", name, count / seconds);
    if (nanos != null) {
      Arrays.sort(nanos);
      line += String.format("   p50 %.2f ms   p99 %.2f ms", nanos[nanos.length / 2] / 1e6, nanos[nanos.length * 99 / 100] / 1e6);
    }
    System.out.println(line);
  }

  private static int count(RemoteIterator<?> entries) throws IOException {
    int count = 0;
    while (entries.hasNext()) {
      entries.next();
      count++;
    }
    return count;
  }

  private static void require(boolean fact) {
    if (!fact) {
      throw new IllegalStateException("the server did not do what it was asked");
    }
  }
}
