package server

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/vigildb/vigil/"

// floors says which floor may import which. A package imports only what is on
// lower lines; its own sub-packages count as the same floor. Structures know
// scheduler and placement for two values, schedules and placement maps: the policy
// is maths, the value adds what is recorded and stored of it. Which packages of
// structures those are is said in rooms.
const floors = `
	cmd:         server commands persistence structures scheduler placement
	server:      commands persistence structures
	commands:    persistence structures scheduler placement
	persistence: structures
	structures:  scheduler placement
	scheduler:
	placement:
`

// owners says which floors, or packages of them, alone may import a library. What
// only the window needs does not reach programs that embed the server without it.
const owners = `
	github.com/cockroachdb/pebble:         persistence
	github.com/bits-and-blooms/bloom:      structures
	github.com/axiomhq/hyperloglog:        structures
	github.com/tidwall/redcon:             server
	net:                                   server cmd
	net/url:                               server cmd structures/schedule
	net/http:                              server/window cmd
	html/template:                         server/window
	github.com/prometheus:                 server/window server/internal/report server/metrics
	github.com/youmark/pkcs8:              server/certs/pkcs8
	github.com/aws/aws-sdk-go-v2:          server/offsite/s3
	github.com/aws/smithy-go:              server/offsite/s3
	go.etcd.io/raft:                       server/cluster/raftnode server/cluster/mesh
	google.golang.org/protobuf:            server/cluster/raftnode server/cluster/mesh
`

// rooms says which packages of ours some packages may import: those named and no
// others. A package without a line here follows its floor.
const rooms = `
	persistence:            persistence/catalog persistence/check persistence/commits persistence/eviction persistence/expiry persistence/feed persistence/fence persistence/files persistence/format persistence/grouplog persistence/heads persistence/intake persistence/journal persistence/keyspace persistence/log persistence/lsm persistence/member persistence/passes persistence/purge persistence/replay persistence/reserve persistence/slab persistence/slots persistence/snapshot persistence/storelog persistence/sweep persistence/tail persistence/tasks persistence/wal persistence/writeback structures structures/text structures/types
	persistence/catalog:    persistence/format structures
	persistence/check:      persistence/chunklog persistence/fence persistence/format persistence/grouplog persistence/journal persistence/log persistence/lsm persistence/snapshot persistence/storelog persistence/wal structures
	persistence/chunklog:   persistence/format persistence/journal persistence/log persistence/storelog
	persistence/commits:    persistence/fence persistence/files persistence/format persistence/journal persistence/lsm persistence/reserve persistence/tasks structures
	persistence/eviction:   persistence/format persistence/keyspace persistence/slots persistence/writeback
	persistence/expiry:     persistence/format
	persistence/files:      persistence/check persistence/chunklog persistence/fence persistence/format persistence/journal persistence/log persistence/lsm persistence/reserve persistence/snapshot persistence/storelog persistence/tail persistence/wal
	persistence/fence:
	persistence/format:     persistence/journal structures structures/types structures/shapes
	persistence/grouplog:   persistence/log persistence/storelog
	persistence/heads:      persistence/format persistence/keyspace persistence/lsm persistence/tasks persistence/writeback structures structures/text
	persistence/intake:     persistence/expiry persistence/fence persistence/format persistence/keyspace persistence/lsm persistence/writeback structures structures/text
	persistence/journal:    persistence/tail structures structures/text
	persistence/keyspace:   persistence/format persistence/prefetch persistence/slab structures structures/types
	persistence/log:        persistence/fence
	persistence/lsm:        persistence/fence persistence/format structures
	persistence/member:     persistence/expiry persistence/fence persistence/format persistence/grouplog persistence/journal persistence/keyspace persistence/log persistence/lsm persistence/snapshot persistence/storelog persistence/tail persistence/wal
	persistence/passes:     persistence/catalog persistence/commits persistence/files persistence/format persistence/heads persistence/journal persistence/keyspace persistence/purge persistence/replay persistence/reserve persistence/sweep persistence/tasks persistence/writeback
	persistence/prefetch:
	persistence/purge:      persistence/expiry persistence/format persistence/keyspace persistence/lsm persistence/writeback
	persistence/replay:     persistence/catalog persistence/commits persistence/files persistence/format persistence/grouplog persistence/heads persistence/journal persistence/keyspace persistence/prefetch persistence/purge persistence/slots persistence/writeback structures
	persistence/reserve:    persistence/fence persistence/lsm
	persistence/slab:
	persistence/slots:      persistence/keyspace persistence/writeback structures structures/text
	persistence/snapshot:   persistence/fence persistence/format persistence/storelog persistence/wal
	persistence/storelog:   persistence/format persistence/log
	persistence/sweep:      persistence/expiry persistence/format persistence/keyspace persistence/lsm persistence/writeback structures
	persistence/feed:       persistence/format persistence/journal persistence/keyspace structures structures/text structures/types
	persistence/tail:
	persistence/tasks:
	persistence/wal:        persistence/fence persistence/format structures
	persistence/writeback:  persistence/expiry persistence/format persistence/journal persistence/keyspace persistence/lsm structures structures/text
	server/activation:
	server/audit:
	server/backup:          commands commands/members persistence persistence/snapshot server/conf server/internal/clock server/peers structures/slots
	server/blocking:        commands persistence structures
	server/certs:
	server/certs/pkcs8:     server/certs
	server/cluster:         persistence persistence/grouplog persistence/member persistence/snapshot server/cluster/logs server/cluster/mesh server/cluster/migrate server/cluster/raftnode server/cluster/topology server/internal/clock server/internal/handlers server/transport structures/slots
	server/cluster/mesh:    server/transport
	server/cluster/logs:
	server/cluster/migrate:  server/cluster/logs server/cluster/raftnode server/cluster/topology server/internal/clock structures/slots
	server/cluster/raftnode: persistence persistence/grouplog persistence/member server/cluster/logs server/cluster/topology server/internal/clock
	server/cluster/topology: persistence/grouplog persistence/snapshot server/cluster/logs server/internal/clock structures/slots
	server/hold:            commands/conn server/internal/clock structures/slots
	server/info:            commands persistence server/source structures
	server/internal/clock:
	server/internal/door:   commands persistence server/conf server/internal/group
	server/internal/group:  commands/cluster commands/members persistence/member server/internal/handlers structures/slots
	server/internal/handlers: server/transport structures/slots
	server/internal/report: server server/conf server/internal/door
	server/membership/membershiptest: server server/conf server/membership
	server/metrics:         server server/internal/report
	server/servertest:      server server/internal/door
	server/importer:        structures structures/aof structures/rdb structures/rdbfile structures/types
	server/peers:           commands
	server/pubsub:          commands commands/pubsub structures/glob structures/slots
	server/offsite:
	server/offsite/s3:      server/offsite
	server/replica:         structures/aof
	server/resharding:      commands commands/cluster persistence server/internal/clock server/peers structures structures/slots
	server/resp:
	server/source:          persistence structures structures/aof
	server/tracking:        commands
	server/transport:       structures
	structures:             structures/shapes
	structures/aof:         structures
	structures/bits:        structures
	structures/bloom:       structures structures/paged
	structures/cells:       structures
	structures/countmin:    structures structures/cells
	structures/cuckoo:      structures structures/cells
	structures/glob:
	structures/hash:        structures structures/paged structures/shapes
	structures/hyll:        structures
	structures/json:        structures
	structures/json/path:   structures/json
	structures/list:        structures structures/paged
	structures/paged:       structures
	structures/placemap:    placement structures
	structures/rdb:         structures structures/bloom structures/cells structures/countmin structures/cuckoo structures/hash structures/json structures/list structures/set structures/stream structures/tdigest structures/topk structures/zset
	structures/rdbfile:     structures structures/rdb
	structures/schedule:    structures scheduler scheduler/sim
	structures/set:         structures structures/hash structures/paged
	structures/slots:
	structures/stream:      structures structures/paged
	structures/text:        structures
	structures/tdigest:     structures structures/cells
	structures/topk:        structures structures/cells
	structures/types:       structures structures/bloom structures/countmin structures/cuckoo structures/hash structures/json structures/list structures/placemap structures/rdb structures/schedule structures/set structures/stream structures/tdigest structures/text structures/topk structures/zset
	structures/zset:        structures structures/paged
`

// pure floors know the standard library only.
var pure = []string{"scheduler", "placement"}

type listedPackage struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

func floorOf(path string) string {
	floor, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	return floor
}

func parseRules(text string) map[string][]string {
	rules := map[string][]string{}
	for line := range strings.Lines(text) {
		if name, list, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			rules[name] = strings.Fields(list)
		}
	}
	return rules
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// belongs reports whether a package is one of the owners, or on the floor of one.
func belongs(path string, owners []string) bool {
	return contains(owners, floorOf(path)) || contains(owners, strings.TrimPrefix(path, module))
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listedPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestTheServerDoesWithoutItsWindow keeps the window out of programs that embed the
// server: nothing but a command may import it.
func TestTheServerDoesWithoutItsWindow(t *testing.T) {
	for _, p := range listPackages(t) {
		if contains(p.Imports, module+"server/window") && floorOf(p.ImportPath) != "cmd" {
			t.Errorf("%s imports the window", p.ImportPath)
		}
	}
}

// TestEmbeddersLinkWhatTheyUse keeps what only a program with a group or a window needs out of those that embed a server.
func TestEmbeddersLinkWhatTheyUse(t *testing.T) {
	for _, embeds := range []string{"server", "server/servertest", "server/metrics"} {
		out, err := exec.Command("go", "list", "-deps", module+embeds).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for path := range strings.FieldsSeq(string(out)) {
			for _, other := range []string{"go.etcd.io/raft", "net/http/pprof", "html/template", "github.com/youmark/pkcs8", "golang.org/x/crypto",
				"github.com/aws/aws-sdk-go-v2", module + "server/offsite/s3",
				"github.com/prometheus/client_golang/prometheus/promhttp", module + "server/cluster", module + "server/membership", module + "server/window"} {
				if path == other || strings.HasPrefix(path, other+"/") {
					t.Errorf("a program that embeds %s links %s", embeds, path)
				}
			}
		}
	}
}

// familyOf is the family of commands that a package is, "" if it is none.
func familyOf(path string) string {
	family, ok := strings.CutPrefix(path, module+"commands/")
	if !ok || family == "groups" || family == "commandtest" {
		return ""
	}
	family, _, _ = strings.Cut(family, "/") // a family may have packages of its own
	return family
}

// knowFamilies are the packages that may import families of commands: the list of them, the server, and its rooms that implement their
// interfaces.
var knowFamilies = strings.Fields("commands/groups server server/internal/group server/pubsub server/hold server/backup server/resharding")

// TestFamiliesOfCommandsKnowNothingOfEachOther keeps what two families need in package
// commands, and every list of families but one out of the program. The server and its rooms
// import families for the interfaces that they implement. Only tests may import more.
func TestFamiliesOfCommandsKnowNothingOfEachOther(t *testing.T) {
	families := 0
	for _, p := range listPackages(t) {
		if familyOf(p.ImportPath) != "" {
			families++
		}
		for _, imported := range p.Imports {
			switch {
			case familyOf(imported) != "" && familyOf(imported) != familyOf(p.ImportPath) && !contains(knowFamilies, strings.TrimPrefix(p.ImportPath, module)):
				t.Errorf("%s imports %s, which only %v may do", p.ImportPath, imported, knowFamilies)
			case imported == module+"commands/commandtest":
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
			}
		}
	}
	if families == 0 {
		t.Error("no family was found")
	}
}

func TestPackagesImportOnlyLowerFloors(t *testing.T) {
	allowed, owner := parseRules(floors), parseRules(owners)
	for _, p := range listPackages(t) {
		floor := floorOf(p.ImportPath)
		if _, known := allowed[floor]; !known {
			t.Errorf("%s is on no floor", p.ImportPath)
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module) {
				if to := floorOf(imported); to != floor && !contains(allowed[floor], to) {
					t.Errorf("%s imports %s, which is not below it", p.ImportPath, imported)
				}
				continue
			}
			rule := "" // the nearest
			for library := range owner {
				if len(library) > len(rule) && (imported == library || strings.HasPrefix(imported, library+"/")) {
					rule = library
				}
			}
			if rule != "" && !belongs(p.ImportPath, owner[rule]) {
				t.Errorf("%s imports %s, which belongs to %v", p.ImportPath, imported, owner[rule])
			}
			if contains(pure, floor) && strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				t.Errorf("%s imports %s, but knows the standard library only", p.ImportPath, imported)
			}
		}
	}
}

func TestRoomsImportOnlyWhatTheyName(t *testing.T) {
	rule := parseRules(rooms)
	for _, p := range listPackages(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := rule[room]
		if !known {
			continue
		}
		delete(rule, room)
		for _, imported := range p.Imports {
			if path, ours := strings.CutPrefix(imported, module); ours && !contains(allowed, path) {
				t.Errorf("%s imports %s; it may import %v", room, path, allowed)
			}
		}
	}
	for room := range rule {
		t.Errorf("there is no package %s", room)
	}
}

// clockAndChance are the calls that only the floors server and cmd may make.
// Timers that only make a goroutine wait tell nobody the time.
var clockAndChance = map[string][]string{
	"time":         {"Now", "Since", "Until", "Sleep"},
	"math/rand":    {"Int", "Intn", "Int63", "Uint64", "Float64", "Perm", "Shuffle", "Seed"},
	"math/rand/v2": {"Int", "IntN", "Int64", "Uint64", "Float64", "Perm", "Shuffle", "N"},
	"crypto/rand":  nil, // whatever is used of it
}

func TestOnlyTheServerReadsClockAndChance(t *testing.T) {
	for _, p := range listPackages(t) {
		floor := floorOf(p.ImportPath)
		if floor == "server" || floor == "cmd" || strings.HasSuffix(p.ImportPath, "test") { // commandtest, structurestest
			continue
		}
		reportCalls(t, p, clockAndChance)
	}
}

// clockAndPauses are the calls that rooms with a clock of their options do not make: in tests and simulations it is theirs.
var clockAndPauses = map[string][]string{
	"time": {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
}

func TestTheClusterTakesItsTimeFromItsEnvironment(t *testing.T) {
	rooms := []string{"server/cluster", "server/cluster/migrate", "server/cluster/raftnode", "server/cluster/topology"}
	for _, p := range listPackages(t) {
		if contains(rooms, strings.TrimPrefix(p.ImportPath, module)) {
			p.GoFiles = slices.DeleteFunc(p.GoFiles, func(name string) bool { return name == "clock_other.go" }) // the clock of machines without CLOCK_BOOTTIME
			reportCalls(t, p, clockAndPauses)
		}
	}
}

// reportCalls fails the test for each of some calls that a package makes, by import path.
func reportCalls(t *testing.T, p listedPackage, calls map[string][]string) {
	t.Helper()
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range callsOf(file, calls) {
			t.Errorf("%s calls %s", path, call)
		}
	}
}

// callsOf returns those of some calls, by import path, that a file makes.
func callsOf(file *ast.File, calls map[string][]string) (made []string) {
	names := map[string]string{} // local name -> import path
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		of, known := calls[path]
		if known && of == nil {
			made = append(made, path)
		}
		if of == nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if name == "v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && contains(calls[names[id.Name]], sel.Sel.Name) {
				made = append(made, id.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return made
}

// Limits of style: what is long is split by noun.
const (
	maxFileLines     = 900
	maxFunctionLines = 60
)

func TestFilesAndFunctionsAreShort(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if n := set.File(file.Pos()).LineCount(); n > maxFileLines && !ast.IsGenerated(file) {
			t.Errorf("%s has %d lines, more than %d", path, n, maxFileLines)
		}
		checkFunctions(t, set, file, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFunctions(t *testing.T, set *token.FileSet, file *ast.File, path string) {
	if strings.HasSuffix(path, "_test.go") {
		return // tables of cases are long by nature
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || strings.HasSuffix(f.Name.Name, "Group") || strings.HasSuffix(f.Name.Name, "Rows") {
			continue // groups are tables of rows
		}
		if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line; n > maxFunctionLines {
			t.Errorf("%s: function %s has %d lines, more than %d", path, f.Name.Name, n, maxFunctionLines)
		}
	}
}
