package study

import (
	"errors"
	"io/fs"
	"math"
	"testing"
	"testing/fstest"
)

func traceOf(changes map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		traceURLs:       "http://a/1\t1\t10\nhttp://a/2\t2\t10\nhttp://b/3\t3\t11\nhttp://b/4\t4\t11\nhttp://b/5\t5\t11\n",
		traceHosts:      "a\t10\t1\nb\t11\t0\n",
		traceImportance: "1\t2.5\n2\t1\n3\t7\n4\t1\n9\t3\n",
		traceHistory: "1\t.5\t[[1, 0], [1, 1], [1, 0], [1, 1]]\n2\t0\t[[1.5, 1], [2, 1]]\n3\t5.5\t[[1.1, 0], [1.4, 1]]\n" +
			"4\t0\t[[1, 0]]\n5\t0\t[[1, 1], [1, 0]]\n",
		traceRates: "3\t.25\n",
	} {
		if other, given := changes[name]; given {
			text = other
		}
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestTraceIsReadAsItIsDescribed(t *testing.T) {
	pages, err := ReadTrace(traceOf(nil), 1)
	if err != nil || len(pages) != 2 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	// Two of four days with a change: exp(-D) is 1/2.
	near(t, "rate of page 1", pages[0].Change, math.Ln2, 1e-9)
	if p := pages[0]; p.Importance != 2.5 || p.Host != 0 || p.Requests != StepsADay/10 || p.Recall != 0 {
		t.Errorf("page 1: %+v", p)
	}
	if p := pages[1]; p.Change != .25 || p.Importance != 7 || p.Host != 1 || !math.IsInf(p.Requests, 1) || p.Recall != 1 || p.Precision != 1 {
		t.Errorf("page 3: %+v", p)
	}
	if pages, err := ReadTrace(traceOf(nil), 3); err != nil || len(pages) != 1 || pages[0].Importance != 7 {
		t.Errorf("every third page: %+v, %v", pages, err)
	}
}

func TestLinesThatAreNotOfTheTraceAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		traceURLs: "http://a/1\t1\n", traceHistory: "1\t0\t[[1, 2]]\n", traceImportance: "1\tx\n", traceRates: "3\tmuch\n", traceHosts: "a\n",
	} {
		if _, err := ReadTrace(traceOf(map[string]string{name: text}), 1); err == nil {
			t.Errorf("%s %q: no error", name, text)
		}
	}
	for _, history := range []string{"[[1]]", "[[-1, 0]]", "[[NaN, 0]]", "[[1, 0], [x, 1]]"} {
		if _, err := rateOf(history); !errors.Is(err, ErrTrace) {
			t.Errorf("%s: %v", history, err)
		}
	}
	if _, err := ReadTrace(fstest.MapFS{}, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no files: %v", err)
	}
}
