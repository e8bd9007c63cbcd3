package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	webs "github.com/vigildb/vigil/scheduler/study"
)

// webOptions are the flags of -web and -trace.
type webOptions struct {
	pages                      int
	trace                      string
	every, warm, days, learned int
}

func (o *webOptions) flags(f *flag.FlagSet) {
	f.IntVar(&o.pages, "web", 0, "compare policies with published ones on a synthetic web of so many `pages`, 1200 or more")
	f.StringVar(&o.trace, "trace", "", "compare them on the public trace, unpacked in this `directory`")
	f.IntVar(&o.every, "every", 1, "take one of so many pages of the trace")
	f.IntVar(&o.warm, "warm-days", 200, "days before those that -web and -trace measure")
	f.IntVar(&o.days, "days", 300, "days that they measure")
	f.IntVar(&o.learned, "learning-days", 800, "days before those for policies that learn; 0 leaves them out")
}

func (o *webOptions) given() bool { return o.pages != 0 || o.trace != "" }

// check says what is wrong, with the function that makes an error of it.
func (o *webOptions) check(bad func(format string, args ...any) error) error {
	switch {
	case o.pages != 0 && o.trace != "":
		return bad("give -web or -trace")
	case o.trace == "" && (o.pages < 1200 || o.pages > 1<<24):
		return bad("-web must be from 1200 to 16777216")
	case o.every < 1 || o.days < 1 || o.warm < 0 || o.learned < 0:
		return bad("-every and -days must be at least 1, -warm-days and -learning-days at least 0")
	}
	return nil
}

func (o *webOptions) work(ctx context.Context, seed uint64, stdout, stderr io.Writer) error {
	var pages []webs.Page
	what := fmt.Sprintf("synthetic web, seed %d", seed)
	if o.trace == "" {
		pages = webs.Web(seed, o.pages)
	} else {
		var err error
		if pages, err = webs.ReadTrace(os.DirFS(o.trace), o.every); err != nil {
			return err
		}
		what = "public trace"
	}
	rows, err := webs.Compare(ctx, pages, webs.Plan{Warm: o.warm, Days: o.days, Learning: o.learned, Seed: seed,
		Progress: func(name string) { fmt.Fprintln(stderr, name) }})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s, %d pages, %d crawls in each of %d steps a day\n\n| share of fresh copies | times drawn | equal gaps, or played |\n|---|--:|--:|\n",
		what, len(pages), webs.Probes(len(pages)), webs.StepsADay)
	for _, r := range rows {
		name := r.Name
		if r.Played {
			name = "**" + name + "**"
		}
		if _, err := fmt.Fprintf(stdout, "| %s | %s | %s |\n", name, share(r.Drawn), share(r.Equal)); err != nil {
			return err
		}
	}
	return nil
}

// share is a figure as in .7208.
func share(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strings.TrimPrefix(strconv.FormatFloat(x, 'f', 4, 64), "0")
}
