import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Takes out of an output what no two clusters or runs have in common: ids, times, hosts, ports, users. */
final class Normal {
  private record Rule(Pattern what, String instead) {
    Rule(String what, String instead) {
      this(Pattern.compile(what), instead);
    }
  }

  private static final String NUMBERED =
      "containerID|localID|blockID|generation|objectID|updateID|expectedDataGeneration|sequenceId|usedBytes|stateEnterTime"
          + "|blockCommitSequenceId|bytesUsed|timestamp|creationTime|referencedSize|referencedReplicatedSize";

  private final Variables variables;
  private final List<Rule> rules = new ArrayList<>();

  Normal(Variables variables, String user, String host) {
    this.variables = variables;
    rules.add(new Rule("\\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\b", "<uuid>"));
    rules.add(new Rule("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z(\\[[\\w/]+\\])?)?", "<time>"));
    rules.add(new Rule("\\b\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d(:\\d\\d)?", "<time>"));
    rules.add(new Rule("(\"(" + NUMBERED + ")\" : )-?\\d+", "$1<n>"));
    rules.add(new Rule("(SequenceId|Container id): \\d+", "$1: <n>"));
    rules.add(new Rule("(Cannot (?:reconcile|get status of) container) \\d+", "$1 <n>"));
    rules.add(new Rule("\\b[A-Z_]+=\\d+(,[A-Z_]+=\\d+)+", "<ports>"));
    rules.add(new Rule("\\b(127\\.0\\.0\\.1|localhost|" + Pattern.quote(host) + "):\\d+\\b", "<host>:<port>"));
    rules.add(new Rule("(?<![\\w.-])(127\\.0\\.0\\.1|localhost|" + Pattern.quote(host) + ")(?![\\w-])", "<host>"));
    // A host whose name is its address is not named twice.
    rules.add(new Rule("<host> \\(<host>:<port>\\)", "<host>:<port>"));
    rules.add(new Rule("(?<![\\w./-])" + Pattern.quote(user) + "(?![\\w/-])", "<user>"));
    rules.add(new Rule("(?<=/\\.Trash/)" + Pattern.quote(user) + "(?![\\w-])", "<user>"));
  }

  List<String> lines(String text) {
    List<String> lines = new ArrayList<>();
    for (String line : Json.tidy(text).split("\n", -1)) {
      if (!line.startsWith("\tat ")) { // a stack trace shows how the client is made
        lines.add(line(line.replace("\r", "").stripTrailing()));
      }
    }
    // A tool's own help, which follows a word that it does not understand, is not the server's.
    int usage = 0;
    while (usage < lines.size() && !lines.get(usage).startsWith("Usage: ")) {
      usage++;
    }
    lines.subList(usage, lines.size()).clear();
    while (!lines.isEmpty() && lines.get(lines.size() - 1).isEmpty()) {
      lines.remove(lines.size() - 1);
    }
    return lines;
  }

  private String line(String line) {
    line = variables.collapse(line);
    for (Rule rule : rules) {
      line = rule.what.matcher(line).replaceAll(rule.instead);
    }
    return line;
  }
}
