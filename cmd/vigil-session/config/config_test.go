package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestEmptyFileIsTheDemo(t *testing.T) {
	got, err := Parse(nil, now)
	if err != nil || !reflect.DeepEqual(got, Default()) {
		t.Errorf("got %+v, %v; want the default", got, err)
	}
}

func TestFileSaysEverything(t *testing.T) {
	got, err := Parse([]byte(`
wire = "vigil"
epoch = "2026-01-01T00:00:00+02:00"
filters = false
budget = "80ms"
session_ttl = "0s"
answer_ttl = "1s"
featured = ["/a"]
notifications = []

[names]
channels = "shop:ss"
answers = "shop:async"

[keys]
total = "shop:total"

[limits]
workers = 2
queue = 10
per_session = 3
payload = 100
items = 5

[[combo]]
name = "tea"
pages = ["/pot", "/cup"]

[[combo]]
name = "none"
pages = []
`), now)
	want := Default()
	want.Wire, want.Filters = Vigil, false
	want.Epoch.Time = time.Date(2025, 12, 31, 22, 0, 0, 0, time.UTC)
	want.Budget.Duration, want.SessionTTL.Duration, want.AnswerTTL.Duration = 80*time.Millisecond, 0, time.Second
	want.Featured, want.Notifications = []string{"/a"}, []string{}
	want.Names = Names{Channels: "shop:ss", Answers: "shop:async"}
	want.Keys.Total = "shop:total"
	want.Limits = Limits{Workers: 2, Queue: 10, PerSession: 3, Payload: 100, Items: 5}
	want.Combos = []Combo{{"tea", []string{"/pot", "/cup"}}, {"none", []string{}}}
	if !got.Epoch.Equal(want.Epoch.Time) {
		t.Errorf("epoch: got %v, want %v", got.Epoch, want.Epoch)
	}
	got.Epoch = want.Epoch
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestBadFilesAreRefusedAsAWhole(t *testing.T) {
	for text, want := range map[string]string{
		"wire = \"demo\"\nbudget = 100":            "line 2",
		"wire = ":                                  "line 1",
		`wire = "node"`:                            "wire is",
		`epoch = "tomorrow"`:                       "no date",
		`epoch = "2027-01-01"`:                     "in the future",
		`colour = "red"`:                           "colour is no name",
		"[limits]\nworker = 3":                     "limits.worker is no name",
		"[limits]\nworkers = 0":                    "limits.workers is 0",
		"[limits]\nqueue = 1":                      "limits.queue is 1",
		"[limits]\nper_session = -1":               "limits.per_session",
		"[limits]\npayload = 99999999999":          "limits.payload",
		`budget = "0s"`:                            "budget must",
		`budget = "soon"`:                          "line 1",
		`answer_ttl = "10us"`:                      "answer_ttl must",
		`session_ttl = "-1h"`:                      "session_ttl must",
		`session_ttl = "500ms"`:                    "session_ttl must",
		"[names]\nchannels = \"s*\"":               "names.channels",
		"[names]\nchannels = \"\"":                 "names.channels",
		"[names]\nanswers = \"\"":                  "names.answers is empty",
		"[keys]\ntotal = \"activity\"":             `both "activity"`,
		"[names]\nanswers = \"page-bloom\"":        `both "page-bloom"`,
		"[[combo]]\npages = [\"/a\"]":              "combo 1",
		"[[combo]]\nname='a'\n[[combo]]\nname='a'": "combo 2",
		"[limits]\nitems = 1":                      "limits.items",
		"\x00":                                     "line 1",
	} {
		if c, err := Parse([]byte(text), now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want an error with %q", text, c, err, want)
		}
	}
}

func TestMinutesAreCountedFromTheEpochInUTC(t *testing.T) {
	epoch := Default().Epoch
	for _, c := range []struct {
		at   time.Time
		want int64
	}{
		{time.Date(2018, 4, 1, 0, 0, 59, 999, time.UTC), 0},
		{time.Date(2018, 4, 1, 1, 0, 0, 0, time.UTC), 60},
		{time.Date(2018, 4, 1, 3, 0, 0, 0, time.FixedZone("east", 7200)), 60},
		{time.Date(2018, 4, 2, 0, 0, 0, 0, time.UTC), 1440},
	} {
		if got := epoch.Minute(c.at); got != c.want {
			t.Errorf("%v: got minute %d, want %d", c.at, got, c.want)
		}
	}
}

func TestEpochMayBeADateOfTOML(t *testing.T) {
	for _, text := range []string{"epoch = 2020-02-03", `epoch = "2020-02-03"`, "epoch = 2020-02-03T00:00:00Z", "epoch = 2020-02-03T00:00:00"} {
		c, err := Parse([]byte(text), now)
		if want := time.Date(2020, 2, 3, 0, 0, 0, 0, time.UTC); err != nil || !c.Epoch.Equal(want) {
			t.Errorf("%s: got %v, %v; want %v", text, c.Epoch, err, want)
		}
	}
}

func TestFileTellsWhetherItChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.toml")
	f := NewFile(path)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := f.Load(now); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	for _, step := range []struct {
		text    string
		changed bool
		bad     bool
	}{
		{"", true, false}, {"", false, false}, {"wire = 1", true, true}, {"wire = 1", false, false},
		{`wire = "vigil"`, true, false}, {strings.Repeat("#", maxFile+1), true, true},
	} {
		write(step.text)
		if _, changed, err := f.Load(now); changed != step.changed || (err != nil) != step.bad {
			t.Errorf("%.20q: got changed %t, %v; want %t, bad %t", step.text, changed, err, step.changed, step.bad)
		}
	}
}

func TestWatchHearsOfAFilePutInThePlaceOfTheOld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "session.toml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- Watch(ctx, path, changed) }()
	<-changed // the watch is set
	f := NewFile(path)
	for _, wire := range []Wire{Vigil, Demo} {
		if err := os.WriteFile(path+".new", fmt.Appendf(nil, "wire = %q", wire), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		for c, again := (Config{}), false; !again || c.Wire != wire; {
			<-changed
			var err error
			if c, again, err = f.Load(now); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWatchOfAMissingFolderIsAnError(t *testing.T) {
	err := Watch(t.Context(), filepath.Join(t.TempDir(), "none", "session.toml"), make(chan struct{}, 1))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
}

// FuzzParse: no text makes Parse panic, or take what Check refuses.
func FuzzParse(f *testing.F) {
	f.Add([]byte("wire = \"vigil\"\n[[combo]]\nname = \"a\"\n"))
	f.Add([]byte("epoch = 2018-04-01"))
	f.Add([]byte("[limits]\nqueue = 0x10"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := Parse(text, now); err == nil {
			if err := c.Check(now); err != nil {
				t.Errorf("%q is taken: %v", text, err)
			}
		}
	})
}

func TestTheFileThatComesWithTheProgramIsTheDefault(t *testing.T) {
	text, err := os.ReadFile("../session.toml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(text, now)
	if err != nil || !reflect.DeepEqual(got, Default()) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, Default())
	}
	for name := range strings.FieldsSeq("wire epoch filters budget session_ttl answer_ttl featured notifications channels answers " +
		"unique total activity pages workers queue per_session payload items name") {
		if !strings.Contains(string(text), "\n"+name+" = ") {
			t.Errorf("the file does not have %s", name)
		}
	}
}
