import java.util.ArrayList;
import java.util.List;

/** Lines of two texts: missing ones behind {@code -}, unexpected ones behind {@code +}, common ones beside them. */
final class Difference {
  private static final int CONTEXT = 2;

  private Difference() {
  }

  static List<String> of(List<String> want, List<String> got) {
    int[][] common = new int[want.size() + 1][got.size() + 1];
    for (int i = want.size() - 1; i >= 0; i--) {
      for (int j = got.size() - 1; j >= 0; j--) {
        common[i][j] = want.get(i).equals(got.get(j))
            ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
      }
    }
    List<String> lines = new ArrayList<>();
    int i = 0;
    int j = 0;
    while (i < want.size() && j < got.size()) {
      if (want.get(i).equals(got.get(j))) {
        lines.add(" " + want.get(i));
        i++;
        j++;
      } else if (common[i + 1][j] >= common[i][j + 1]) {
        lines.add("-" + want.get(i++));
      } else {
        lines.add("+" + got.get(j++));
      }
    }
    for (String line : want.subList(i, want.size())) {
      lines.add("-" + line);
    }
    for (String line : got.subList(j, got.size())) {
      lines.add("+" + line);
    }
    return near(lines);
  }

  /** Without the common lines that are far from any other. */
  private static List<String> near(List<String> lines) {
    List<String> near = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      List<String> around = lines.subList(Math.max(0, i - CONTEXT), Math.min(lines.size(), i + CONTEXT + 1));
      if (around.stream().anyMatch(line -> !line.startsWith(" "))) {
        near.add(lines.get(i));
      }
    }
    return near;
  }
}
