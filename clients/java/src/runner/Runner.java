import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.hadoop.fs.FileSystem;

/**
 * Runs programs one after the other, so that the published clients are loaded and compiled once.
 *
 * <p>A line of standard input is a program: the folder with its configuration, a folder for its local files, its class,
 * its words, with tabs between them. Its exit status is one byte of the file that the first argument names. Programs
 * have {@code static int run(String[])} and print to the standard streams.
 */
public final class Runner {
  private static final int CONF = 0;
  private static final int LOCAL = 1;
  private static final int CLASS = 2;
  private static final int WORDS = 3;

  private Runner() {
  }

  public static void main(String[] args) throws IOException {
    InputStream in = System.in;
    // No program reads what is meant for the next one.
    System.setIn(InputStream.nullInputStream());
    try (BufferedReader requests = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        OutputStream statuses = new FileOutputStream(args[0])) {
      for (String line = requests.readLine(); line != null; line = requests.readLine()) {
        int status = run(line.split("\t", -1));
        System.out.flush();
        System.err.flush();
        statuses.write(status);
        statuses.flush();
      }
    }
    // Threads of the clients may linger.
    System.exit(0);
  }

  private static int run(String[] request) {
    Thread.currentThread().setContextClassLoader(new Configured(Path.of(request[CONF])));
    System.setProperty("test.build.data", request[LOCAL]);
    String[] words = Arrays.copyOfRange(request, WORDS, request.length);
    try {
      return (int) Class.forName(request[CLASS]).getMethod("run", String[].class).invoke(null, (Object) words);
    } catch (ReflectiveOperationException e) {
      e.printStackTrace();
      return 1;
    } finally {
      try {
        // The next program has another cluster, maybe on the same ports.
        FileSystem.closeAll();
      } catch (IOException e) {
        e.printStackTrace();
      }
    }
  }

  /** Finds the files of one folder before those of the class path, as if it were the first entry of that. */
  private static final class Configured extends URLClassLoader {
    Configured(Path folder) {
      super(new URL[] {url(folder)}, Runner.class.getClassLoader());
    }

    private static URL url(Path folder) {
      try {
        return folder.toUri().toURL();
      } catch (IOException e) {
        throw new IllegalArgumentException(e);
      }
    }

    @Override
    public URL getResource(String name) {
      URL found = findResource(name);
      return found == null ? super.getResource(name) : found;
    }
  }
}
