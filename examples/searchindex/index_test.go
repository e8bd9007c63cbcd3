package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// Documents that have all words are found, those first that have them most often, until they are replaced or removed.
func TestIndexFindsDocumentsByTheirWords(t *testing.T) {
	x := NewIndex()
	x.Put("a", "Red, red wine")
	x.Put("b", "red house")
	x.Put("c", "wine")
	for query, want := range map[string]string{"red": "a b", "RED wine": "a", "wine": "a c", "blue": "", "red blue": "", "": ""} {
		if got := strings.Join(x.Search(query), " "); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	x.Put("a", "blue")
	x.Remove("c")
	x.Remove("nosuch")
	if got := x.Search("wine"); len(got) != 0 || x.Len() != 2 {
		t.Errorf("got %q of %d documents", got, x.Len())
	}
}

// The index is like the documents in the end, whatever happens to them, and although the position is lost at times: the stream is
// short, all documents are flushed or exchanged, and the server is started anew.
func TestIndexFollowsTheDocuments(t *testing.T) {
	const seed = 7
	rng, dir := rand.New(rand.NewPCG(seed, 1)), t.TempDir()
	words := []string{"red", "green", "blue", "old", "new"}
	f := &Feed{Prefix: "doc:", Index: NewIndex(), Wait: time.Millisecond}
	stop := func() error { return nil }
	start := func() {
		t.Helper()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		addr, s, err := startServer(server.Options{Dir: dir, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		stop = s
		f.Redis = redis.NewClient(&redis.Options{Addr: addr, Protocol: 3, MaxRetries: -1})
		t.Cleanup(func() { f.Redis.Close() })
	}
	start()
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	ctx := t.Context()
	write := func() {
		key := fmt.Sprint("doc:", rng.IntN(20))
		var err error
		switch n := rng.IntN(100); {
		case n < 20:
			err = f.Redis.Del(ctx, key).Err()
		case n < 22:
			err = f.Redis.FlushAll(ctx).Err()
		case n < 24:
			err = f.Redis.Do(ctx, "SWAPDB", 0, 1).Err()
		case n < 30:
			err = f.Redis.Set(ctx, key, "no document", 0).Err()
		case n < 32: // more than the stream keeps
			err = f.Redis.Set(ctx, "large", strings.Repeat("x", 2<<20), 0).Err()
		default:
			err = f.Redis.Del(ctx, key).Err()
			if err == nil {
				err = f.Redis.HSet(ctx, key, "title", words[rng.IntN(5)], "text", words[rng.IntN(5)]).Err()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for round := range 60 {
		if round == 30 {
			start()
		}
		for range rng.IntN(8) {
			write()
		}
		if err := f.Step(ctx); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for range 4 { // what is left: at most one scan, and the changes behind it
		if err := f.Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range words {
		var want []string
		for i := range 20 {
			key := fmt.Sprint("doc:", i)
			if fields, err := f.Redis.HGetAll(ctx, key).Result(); err == nil && (fields["title"] == word || fields["text"] == word) {
				want = append(want, key)
			}
		}
		got := f.Index.Search(word)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %s: got %q, want %q", seed, word, got, want)
		}
	}
	if f.Scans < 3 || f.Scans > 30 || f.Index.Len() == 0 {
		t.Errorf("%d scans, %d documents", f.Scans, f.Index.Len())
	}
}

// The example runs, and finds what was written last.
func TestExampleRuns(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", 300); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"zebra": 1 documents, first example:doc:last`) {
		t.Error(out.String())
	}
}
