package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tape is a file that a test looks at, and that fails or hangs as the test wants.
type tape struct {
	mu    sync.Mutex
	text  strings.Builder
	fails bool          // guarded by mu
	short int           // how many bytes the next write takes; guarded by mu
	hang  chan struct{} // if not nil, writes wait for its end
	warns []string      // guarded by mu
}

func (f *tape) Write(b []byte) (int, error) {
	if f.hang != nil {
		<-f.hang
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.short > 0 {
		n := f.short
		f.short = 0
		f.text.Write(b[:n])
		return n, io.ErrShortWrite
	}
	if f.fails {
		return 0, errors.New("no space left on device")
	}
	return f.text.Write(b)
}

func (f *tape) Close() error { return nil }

func (f *tape) warn(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.warns = append(f.warns, text)
}

func (f *tape) fail(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = yes
}

func (f *tape) read() (lines []map[string]any, warns int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range strings.Lines(f.text.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			panic(fmt.Sprintf("%v in %q", err, line))
		}
		lines = append(lines, m)
	}
	return lines, len(f.warns)
}

func act(call string) Record {
	return Record{Time: time.UnixMilli(1700000000123), Client: 7, Addr: "10.0.0.9:40112", User: "alice", DB: 3, Call: call, Result: "OK"}
}

func TestRecordsAreLinesOfJSONInTheirOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(path, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	r := act(`"CONFIG" "SET" "maxmemory" "2gb <&>\xff"` + "\n{\"time\":0}")
	l.Add(r)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	r.Name, r.Result = "desk", "ERR no"
	l.Close()
	l.Add(r) // which nobody writes
	old, err := os.ReadFile(path + ".1")
	want := `{"time":"2023-11-14T22:13:20.123Z","client":7,"addr":"10.0.0.9:40112","user":"alice","db":3,"call":"\"CONFIG\" \"SET\" \"maxmemory\" \"2gb <&>\\xff\"\n{\"time\":0}","result":"OK"}` + "\n"
	if err != nil || string(old) != want {
		t.Errorf("%v, %s\nwant %s", err, old, want)
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestReopenGoesOnInAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(path, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first is not used
		if err := l.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	l.Add(act("here"))
	l.Close()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"here"`) {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Open(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file that cannot be is no error")
	}
	var none *Log
	none.Add(act("x"))
	none.Close()
	if err := none.Reopen(); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskLosesNothingThatFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tape{}
		f.fail(true)
		l := start(f, nil, f.warn)
		for i := range 100 {
			l.Add(act(fmt.Sprint(i)))
		}
		time.Sleep(10 * again) // of the bubble
		if lines, warns := f.read(); len(lines) != 0 || warns != 1 {
			t.Errorf("%d lines, %d warnings on a full disk", len(lines), warns)
		}
		f.mu.Lock()
		f.fails, f.short = false, 9
		f.mu.Unlock()
		l.Close()
		lines, _ := f.read()
		for i := range 100 {
			if len(lines) != 100 || lines[i]["call"] != fmt.Sprint(i) {
				t.Fatalf("%d lines, %v at %d", len(lines), lines[min(i, len(lines)-1)], i)
			}
		}
	})
}

func TestADiskThatHangsKeepsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tape{hang: make(chan struct{})}
		l := start(f, nil, f.warn)
		begun := time.Now()
		guess, deed := act(strings.Repeat("p", 1000)), act(strings.Repeat("d", 1000))
		guess.Stranger = true
		for range roomBytes / 1000 {
			l.Add(guess)
		}
		deeds := 0
		for l.lostSoFar() == l.lostAfter(deed) { // as long as they fit
			deeds++
		}
		if time.Since(begun) != 0 {
			t.Errorf("who adds waits for %v", time.Since(begun))
		}
		if size := len(encode(&deed)); deeds*size < roomBytes/2-3*size {
			t.Errorf("a flood of strangers leaves room for %d acts", deeds)
		}
		close(f.hang)
		synctest.Wait()
		l.Close()
		lines, warns := f.read()
		acts, last := 0, lines[len(lines)-1]
		for _, m := range lines {
			if call, _ := m["call"].(string); strings.HasPrefix(call, "d") {
				acts++
			}
		}
		if acts != deeds || last["lost"] == nil || warns != 1 {
			t.Errorf("%d of %d acts, at the end %v, %d warnings", acts, deeds, last, warns)
		}
		if lost := int(last["lost"].(float64)); lost != roomBytes/1000+deeds+1-(len(lines)-1) {
			t.Errorf("%d are said to be lost of %d, and %d are there", lost, roomBytes/1000+deeds+1, len(lines)-1)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &tape{}
		f.fail(true)
		l := start(f, nil, f.warn)
		l.Add(act("x"))
		begun := time.Now()
		l.Close()
		if took := time.Since(begun); took != patience {
			t.Errorf("Close waits for %v", took)
		}
		synctest.Wait()
		if _, warns := f.read(); warns != 2 {
			t.Errorf("%d warnings", warns)
		}
	})
}

func (l *Log) lostSoFar() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *Log) lostAfter(r Record) int {
	l.Add(r)
	return l.lostSoFar()
}

func TestTextGoesToTheLogWithoutItsEnd(t *testing.T) {
	var got []string
	l := To(func(text string) { got = append(got, text) }, nil)
	l.Add(act("x"))
	l.Close()
	if len(got) != 1 || !strings.HasSuffix(got[0], `"result":"OK"}`) {
		t.Errorf("%q", got)
	}
}
