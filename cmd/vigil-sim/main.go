// Command vigil-sim plays scheduling policies on nodes with known rates, prints
// the cost of each and a bound that no policy can beat, and draws figures.
//
//	vigil-sim nodes.csv                    name,rate[,weight,decay,arrival,cost,max-age]
//	vigil-sim -observations probes.csv     name,time,items: rates are estimated first
//	vigil-sim -demo zipf                   an input that comes with the program
//	vigil-sim -web 2400                    policies beside published ones, on a synthetic web
//	vigil-sim -trace directory             and on pages of the public trace, if it is there
//	vigil-sim -export host:port -key feeds > state.csv
//	vigil-sim -import host:port -key feeds state.csv
//
// The last two write and read what a schedule of a server knows of its nodes: what was
// given, what was learnt, how long ago each was looked at. The file can be simulated, too.
//
// Queues are judged by their mean sum, which LB1 <= LB2 <= LB3 bound from below
// (ratio: cost over LB3); if every node has a decay, content is ephemeral and
// policies are judged by the interest that they collect (ratio: over its bound
// from above). When rates change (-change-at, -drift) policies have to learn
// them, and LB3 is the mean of that for the rates of the moment.
//
// The same input, flags and seed give the same table. Exit codes: 0; 1 if
// something failed; 2 for flags that make no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/scheduler/sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	observations, model, items, policies, estimator, format, figures, kinds string
	exports, imports, key                                                   string
	web                                                                     webOptions
	demo                                                                    string
	window, step, explore                                                   float64
	probes                                                                  int
	steps, warm                                                             int64
	seed                                                                    uint64
	binary, quiet                                                           bool
	change                                                                  sim.Change
	file                                                                    string
}

// errUsage is returned for flags that make no sense.
var errUsage = errors.New("usage")

// run is main with its environment as arguments; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := readOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = o.work(ctx, stdin, stdout, stderr)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "vigil-sim: %v\n", strings.TrimPrefix(err.Error(), "usage: "))
		return 2
	}
	fmt.Fprintf(stderr, "vigil-sim: %v\n", err)
	return 1
}

func readOptions(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("vigil-sim", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: vigil-sim [flags] nodes.csv     (- is the standard input)")
		f.PrintDefaults()
	}
	f.StringVar(&o.observations, "observations", "", "estimate rates from a `file` of name,time,items")
	f.Float64Var(&o.step, "step", 1, "length of a step in the `units` of the times of -observations")
	f.StringVar(&o.demo, "demo", "", "an input that comes with the program: "+strings.Join(demoNames(), ", "))
	f.StringVar(&o.model, "model", "auto", "queues, interest, freshness, or auto: interest if every node has a decay")
	f.StringVar(&o.policies, "policies", "", "`names` with commas; all that suit the nodes if empty")
	f.StringVar(&o.estimator, "estimator", "", "hide the rates and learn them with this `name`; known rates if empty")
	f.Float64Var(&o.window, "window", scheduler.DefaultWindow, "K of the estimator window, in `items`")
	f.IntVar(&o.probes, "probes", 1, "probes a step")
	f.Int64Var(&o.steps, "steps", 100000, "steps that are measured")
	f.Int64Var(&o.warm, "warm", -1, "steps before them that are not; -1: a quarter as many")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all that is drawn")
	f.StringVar(&o.items, "items", "poisson", "mean, bernoulli or poisson")
	f.BoolVar(&o.binary, "binary", false, "probes only say whether something was found")
	f.Float64Var(&o.explore, "explore", 0, "`fraction` of probes that go to nodes drawn uniformly")
	f.Int64Var(&o.change.PermuteAt, "change-at", 0, "permute all rates in this `step`, counted from the first that is played")
	f.Float64Var(&o.change.Drift, "drift", 0, "standard deviation of what is added to the logarithm of a rate in a step")
	f.Float64Var(&o.change.Revert, "revert", 0, "part of its way that a drifting logarithm goes back in a step")
	f.StringVar(&o.format, "format", "text", "text, csv or json")
	f.StringVar(&o.figures, "figures", "", "write figures to this `directory`")
	f.StringVar(&o.kinds, "kinds", "svg,png", "`formats` of the figures, with commas: svg, png, pdf, eps, jpg, tiff")
	o.web.flags(f)
	f.StringVar(&o.exports, "export", "", "write the nodes of a schedule of the server at this `address`, as csv or json lines (-format)")
	f.StringVar(&o.imports, "import", "", "add the nodes of a file to a schedule of the server at this `address`")
	f.StringVar(&o.key, "key", "", "the `name` of the schedule of -export and -import")
	f.BoolVar(&o.quiet, "quiet", false, "show no progress, not even on a terminal")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if f.NArg() > 1 {
		return o, fmt.Errorf("%w: one file at a time, got %s", errUsage, strings.Join(f.Args(), " "))
	}
	o.file = f.Arg(0)
	return o, o.check()
}

func (o *options) check() error {
	sources := 0
	for _, s := range []string{o.file, o.observations, o.demo} {
		if s != "" {
			sources++
		}
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{errUsage}, args...)...)
	}
	if o.web.given() {
		if sources > 0 || o.exports+o.imports+o.key != "" {
			return bad("-web and -trace take no other input")
		}
		return o.web.check(bad)
	}
	if o.exports != "" || o.imports != "" || o.key != "" {
		switch {
		case o.exports != "" && o.imports != "", o.exports == "" && o.imports == "", o.key == "":
			return bad("give -export or -import, and -key")
		case o.exports != "" && sources > 0, o.imports != "" && (sources != 1 || o.file == ""):
			return bad("-export takes no file, and -import one")
		case formats[o.format] == nil:
			return bad("unknown format %q, available: csv, json", o.format)
		}
		return nil
	}
	switch {
	case sources != 1:
		return bad("give a file of nodes, -observations or -demo (-h lists the flags)")
	case o.probes < 1:
		return bad("-probes must be at least 1")
	case o.steps < 1:
		return bad("-steps must be at least 1")
	case o.warm < -1:
		return bad("-warm must be at least 0")
	case !(o.step > 0):
		return bad("-step must be greater than 0")
	case !(o.window > 0):
		return bad("-window must be greater than 0")
	case !(o.explore >= 0 && o.explore <= 1):
		return bad("-explore must be from 0 to 1")
	case o.change.PermuteAt < 0, !(o.change.Drift >= 0), !(o.change.Revert >= 0 && o.change.Revert < 1):
		return bad("-change-at and -drift must be at least 0, -revert from 0 to less than 1")
	case formats[o.format] == nil:
		return bad("unknown format %q, available: text, csv, json", o.format)
	}
	if o.warm < 0 {
		o.warm = o.steps / 4
	}
	return nil
}

// work reads, plays, prints and draws.
func (o *options) work(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	if o.exports != "" || o.imports != "" {
		return o.transfer(stdin, stdout)
	}
	if o.web.given() {
		return o.web.work(ctx, o.seed, stdout, stderr)
	}
	s, err := o.study(stdin)
	if err != nil {
		return err
	}
	if !o.quiet {
		s.bar = newProgress(stderr)
	}
	rows, err := s.run(ctx)
	if err != nil {
		return err
	}
	if err := formats[o.format](stdout, rows, s.model.Rewards()); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	if o.figures == "" {
		return nil
	}
	s.kinds = strings.Split(o.kinds, ",")
	return s.draw(ctx, o.figures, rows)
}

// study reads the input and finds what flags name.
func (o *options) study(stdin io.Reader) (*study, error) {
	s := new(study)
	change := "change"
	if o.estimator != "" {
		change = o.estimator
	}
	e, err := scheduler.EstimatorNamed(change)
	if err != nil {
		return nil, fmt.Errorf("%w: unknown estimator %q: %w", errUsage, change, err)
	}
	if o.estimator != "" {
		s.estimator = &e
	}
	if s.nodes, err = o.input(stdin, e); err != nil {
		return nil, err
	}
	if s.model, err = modelOf(o.model, s.nodes); err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	s.trial = sim.Trial{Window: o.window, Probes: o.probes, Explore: o.explore, Binary: o.binary, Change: o.change, Seed: o.seed,
		Warm: o.warm, Steps: o.steps}
	if s.trial.Items, err = itemsOf(o.items); err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return s, s.choose(o.policies)
}

func (o *options) input(stdin io.Reader, e scheduler.EstimatorSpec) (nodes []node, err error) {
	if o.demo != "" {
		nodes, err := demo(o.demo)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUsage, err)
		}
		return nodes, nil
	}
	name, in := o.file+o.observations, stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	if o.observations != "" {
		nodes, err = readObservations(in, e, o.window, o.step)
	} else {
		nodes, err = readNodes(in)
	}
	if err == nil && len(nodes) == 0 {
		err = errors.New("no nodes")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return nodes, nil
}
