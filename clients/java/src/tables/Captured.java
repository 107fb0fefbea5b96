import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What a command printed to the two standard streams while it ran in this process, and what it returned. */
record Captured(String out, String err, int status) {
  /** Clients would repeat for hours what a server refuses in a way that they do not understand. */
  private static final long LIMIT_S = 60;

  static Captured of(Callable<Integer> command) {
    PrintStream stdout = System.out;
    PrintStream stderr = System.err;
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int status;
    try {
      System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
      System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
      status = within(command);
      System.out.flush();
      System.err.flush();
    } finally {
      System.setOut(stdout);
      System.setErr(stderr);
    }
    return new Captured(out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8), status & 255);
  }

  private static int within(Callable<Integer> command) {
    FutureTask<Integer> task = new FutureTask<>(command);
    Thread thread = new Thread(task, "command");
    thread.setDaemon(true);
    thread.start();
    try {
      return task.get(LIMIT_S, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      thread.interrupt();
      System.err.println("not done within " + LIMIT_S + " s");
      return 124;
    } catch (ExecutionException e) {
      System.err.println(e.getCause());
      return 125;
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
