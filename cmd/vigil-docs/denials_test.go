package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/types"
)

// features are what vigil has beside commands and types, as pages call them.
const features = `scripts?|scripting|Lua|functions|librar(?:y|ies)|transactions?|replication|replicas?|clusters?|groups?|failovers?|ACLs?|users|TLS|` +
	`pub/sub|subscriptions?|client-side caching|tracking|snapshots?|eviction|geography|consumer groups|keyspace (?:events|notifications)|databases|expiry|` +
	`persistence|sentinel|Sentinel|slots|migrations?|metrics|window`

// denials finds what a text says that vigil does not have, although it is a command
// of the table, a type, or one of the features. What a text of Go says is in comments
// and strings.
func denials(t *testing.T) func(path, text string) []string {
	t.Helper()
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range table.All() {
		if first, _, sub := strings.Cut(c.Name, " "); !sub && len(first) > 2 {
			names = append(names, regexp.QuoteMeta(first))
		}
	}
	for _, typ := range types.All() {
		names = append(names, regexp.QuoteMeta(typ.Plural))
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // the longest that fits
	thing := "`?\\b(?:" + strings.Join(names, "|") + "|" + features + ")\\b`?"
	few := `(?:[\w-]+ ){0,2}`
	patterns := regexp.MustCompile(strings.Join([]string{
		`\b(?:vigil|[Ii]t|that|server|and) ha(?:s|d) no ` + few + thing,
		`\bno ` + few + thing + `(?:,? [\w-]+){0,4} yet\b`,
		`\b(?:there (?:is|are) no|without) ` + few + thing + `(?: support| yet| in vigil)\b`,
		`\b(?:vigil|server|it) (?:does not|cannot|can not) (?:support|have|know|implement|offer|do) ` + few + thing,
		thing + `(?: \w+){0,3} (?:is|are) not (?:yet )?(?:supported|implemented|available|there yet)\b`,
		thing + `[^.|]{0,40}, which (?:vigil|it) (?:does not|has no|lacks)\b`,
		`\bvigil lacks\b[^.|]{0,60}` + thing,
		`\b(?:no|nobody|no server|nothing)(?: \w+){0,2} uses? (?:it|them|this|that) yet\b`,
		`(?:command|feature|option|way)[^.|]{0,40} (?:is|are) not there yet\b`,
		`\bnot supported: one server\b`,
		`\btypes (?:that )?vigil does not (?:support|have)\b`,
	}, "|"))
	// The patterns take long. What they find has one of these.
	no := regexp.MustCompile(`\b(?:ha[sd] no|lacks|yet|(?:is|are) no|without|not (?:support(?:ed)?|have|know|implement(?:ed)?|offer|do|available)|which (?:vigil|it)|types (?:that )?vigil)\b`)
	comment, blank := regexp.MustCompile(`\n[ \t]*(?://|#) ?`), regexp.MustCompile(`\s+`)
	return func(path, text string) (found []string) {
		if strings.HasSuffix(path, ".go") {
			var said []string
			for line := range strings.Lines(text) {
				if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "//") || strings.Contains(trimmed, `"`) {
					said = append(said, line)
				} else {
					said = append(said, ".\n")
				}
			}
			text = strings.Join(said, "")
		}
		text = strings.ReplaceAll(blank.ReplaceAllString(comment.ReplaceAllString(text, " "), " "), `\-`, "-")
		for _, sentence := range strings.Split(text, ". ") {
			if no.MatchString(sentence) && patterns.MatchString(sentence) {
				found = append(found, sentence)
			}
		}
		return found
	}
}

// deniedRightly are what pages say and may say, as part of a text that denials finds.
var deniedRightly = []struct{ path, text string }{
	{"cmd/vigil-docs/compatibility.md", "also if it has no slots: CLUSTER FAILOVER at one of them comes first"},
	{"docs/compatibility.md", "also if it has no slots: CLUSTER FAILOVER at one of them comes first"},
	{"docs/adr/0073-buried-groups.md", "Then it has no slots: clients get MOVED"},
	{"commands/errors.go", "snapshots are not available: data is kept in memory only"},
	{"commands/script/errors.go", "vigil has no debugger for scripts"},
	{"examples/shop/demo/main.go", "no subscription yet"},
	{"server/cluster/topology/tombstone.go", "it has no slots any more"},
	{"cmd/vigil-session/service/service.go", "the server has no Bloom filters"},
}

func TestPagesDenyNothingThatIsThere(t *testing.T) {
	const root = "../.."
	find, allowed, pages := denials(t), make([]bool, len(deniedRightly)), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if name == "testdata" || name == "data" || name == "bin" || name == "dist" || name == "node_modules" || name == "build" || name == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		switch in := filepath.Base(filepath.Dir(path)); {
		case d.Name() == "CHANGELOG.md", strings.HasSuffix(path, "_test.go"):
			return nil
		case strings.HasSuffix(path, ".go"), strings.HasSuffix(path, ".md"), in == "packaging":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
	found:
		for _, denied := range find(name, string(text)) {
			for i, a := range deniedRightly {
				if a.path == name && strings.Contains(denied, a.text) {
					allowed[i] = true
					continue found
				}
			}
			t.Errorf("%s denies what is there, or say in deniedRightly why it may: ...%s...", name, denied)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range deniedRightly {
		if !allowed[i] {
			t.Errorf("deniedRightly: %s does not say %q any more", a.path, a.text)
		}
	}
	if pages < 500 {
		t.Errorf("%d files were read, want all", pages)
	}
}

func TestDenialsAreFoundAndLittleElse(t *testing.T) {
	find := denials(t)
	for _, text := range []string{
		"versions that use a Lua script do not work: vigil has no scripts yet",
		"`indexed` needs sets, which vigil does not have yet",
		"lists the keys whose types vigil does not support (sets, sorted sets, streams)",
		"// that the other does not take: vigil\n// has no sets, sorted sets and streams yet.",
		"Encrypt replication. *Not supported*: vigil has no replication: remove the line",
		"# Not supported: vigil has\n# no replication.",
		"| replication in memory | not supported: one server and its disk | |",
		"Accepted. `server/cluster`; no server uses it yet.",
		"a command to go on by hand is not there yet",
		"XREADGROUP is not supported.", "vigil does not support transactions.", "Streams and `SORT` are not implemented.",
		"vigil lacks ACLs", "the server does not have GEOADD", "There are no snapshots yet.", "It has no client-side caching.",
	} {
		if len(find("page.md", text)) == 0 {
			t.Errorf("not found: %s", text)
		}
	}
	for _, text := range []string{
		"a stream cannot have more consumer groups", "vigil does not load modules", "LINSERT of what is not there", "A directory belongs to no member yet.",
		"earlier versions do not read a store with such pages", "Scripts have no access to files.", "GET of a key that is not there returns nil.",
	} {
		if found := find("page.md", text); len(found) > 0 {
			t.Errorf("found: %s", text)
		}
	}
	if found := find("x.go", "vigil_has_no := scripts // x\nvigil has no replication\n"); len(found) > 0 {
		t.Errorf("found in what Go does: %q", found)
	}
}

func TestReadmeCountsPoliciesAndStrategies(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen"}
	text := strings.Join(strings.Fields(string(readme)), " ")
	for _, want := range []string{words[len(scheduler.Policies())] + " policies", words[len(placement.Strategies())] + " strategies"} {
		if !strings.Contains(text, want) {
			t.Errorf("README.md does not say that there are %s", want)
		}
	}
}
