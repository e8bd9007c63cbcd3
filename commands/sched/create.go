package sched

import (
	"errors"
	"math"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/schedule"
)

func Group() commands.Group {
	read, change := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}, []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)}
	return commands.Group{Name: "sched", Commands: append([]commands.Command{
		{Name: "SCHED.CREATE", Arity: -2, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.OW|commands.Insert)},
			Syntax: "key [POLICY policy] [PROBES probes] [ESTIMATOR estimator [K items]] [SEED seed] [CLOCK STEP|WALL milliseconds] [LEASE milliseconds] [EXPLORE fraction] [QUIET milliseconds] [GROUPBY HOST] [BUDGET cost] [PRICE price]",
			Since:  "0.1.0", Cost: "O(1)", Summary: "Creates a schedule, which decides which of its nodes to probe next.", Run: create},
		{Name: "SCHED.ADD", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)},
			Syntax: "key node [RATE rate] [WEIGHT weight] [DECAY decay] [ARRIVAL rate] [COST cost] [MAXAGE steps] [PRECISION share] [RECALL share] [GROUP group] [DEADLINE steps] [AGE steps] [SEEN probes items] [node ...]",
			Since:  "0.1.0", Cost: "O(log n) for each node",
			Summary: "Adds nodes to a schedule, or changes the parameters of nodes.", Run: add},
		{Name: "SCHED.REM", Arity: -3, Flags: commands.Write, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)}, Syntax: "key node [node ...]",
			Since: "0.1.0", Cost: "O(log n) for each node", Summary: "Removes nodes from a schedule.", Run: remove},
		{Name: "SCHED.NEXT", Arity: -2, Flags: commands.Write, Keys: change,
			Syntax: "key [COUNT count] [LEASE milliseconds] [WITHSTATS]", Since: "0.1.0", Cost: "O(log n) for each node returned",
			Summary: "Advances a schedule by one step and leases the nodes to probe now.", Run: next},
		{Name: "SCHED.PEEK", Arity: -2, Flags: commands.ReadOnly, Keys: read, Syntax: "key [COUNT count] [WITHSTATS]",
			Since: "0.1.0", Cost: "O(log n) for each node returned",
			Summary: "Returns what SCHED.NEXT would return, without changing anything.", Run: peek},
		{Name: "SCHED.OBSERVE", Arity: -4, Flags: commands.Write, Keys: change, Syntax: "key node items [COST cost] [node items [COST cost] ...]",
			Since: "0.1.0", Cost: "O(log n) for each node",
			Summary: "Records what the probes of nodes found and ends their leases. Nodes that are not leased are passed over, and returned.", Run: observe},
		{Name: "SCHED.FAIL", Arity: -3, Flags: commands.Write, Keys: change, Syntax: "key node [RETRY milliseconds] [node ...]", Since: "0.1.0",
			Cost: "O(log n) for each node", Summary: "Cancels leases whose probes did not happen: the nodes are as they were before SCHED.NEXT, or paused for the milliseconds of RETRY. Nodes that are not leased are passed over, and returned.", Run: fail},
		{Name: "SCHED.INFO", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "0.1.0", Cost: "O(1)",
			Summary: "Returns the parameters and the state of a schedule.", Run: info},
		{Name: "SCHED.NODE", Arity: 3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key node", Since: "0.1.0", Cost: "O(1)",
			Summary: "Returns the parameters and the state of a node.", Run: nodeInfo},
		{Name: "SCHED.NODES", Arity: -3, Flags: commands.ReadOnly, Keys: read, Syntax: "key cursor [MATCH pattern] [COUNT count] [GROUP group] [LEASED] [PAUSED] [OVERDUE] [MINAGE steps] [WITH field [field ...]]",
			Since: "0.1.0", Cost: "O(1) for each call, O(n) for all n nodes",
			Summary: "Iterates over the nodes of a schedule, those with a lease, a pause or an age if asked, and returns their names or fields of SCHED.NODE.", Run: scan},
	}, slices.Concat(signalRows(change), pauseRows(change), alterRows(change), groupRows(read, change), costRows(read))...)}
}

// wireError translates the errors of package schedule.
func wireError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, schedule.ErrNoNode):
		return errNode
	case errors.Is(err, schedule.ErrNotLeased):
		return errLease
	case errors.Is(err, schedule.ErrItems):
		return errItems
	case errors.Is(err, schedule.ErrNoGroup):
		return errGroup
	case errors.Is(err, schedule.ErrName):
		return errName
	case errors.Is(err, schedule.ErrFull):
		return errFull
	case errors.Is(err, schedule.ErrSteps):
		return errSteps
	case errors.Is(err, schedule.ErrCount):
		return errCount
	case errors.Is(err, schedule.ErrWindow):
		return errWindow
	case errors.Is(err, schedule.ErrBudget):
		return errBudget
	case errors.Is(err, schedule.ErrNoBudget):
		return errNoBudget
	case errors.Is(err, scheduler.ErrNoDeadlines):
		return errNoDeadline
	case errors.Is(err, scheduler.ErrNumber):
		return errNumber
	case errors.Is(err, scheduler.ErrCost):
		return errCost
	case errors.Is(err, scheduler.ErrMaxAge):
		return errMaxAge
	case errors.Is(err, scheduler.ErrShare):
		return errShare
	case errors.Is(err, scheduler.ErrDecay):
		return errDecay
	case errors.Is(err, scheduler.ErrArrival):
		return errArrival
	}
	return err
}

// view finds a schedule for reading; a missing one is an error.
func view(c *commands.Ctx, key []byte) (*schedule.Schedule, error) {
	return commands.ViewExisting[*schedule.Schedule](c, key, commands.ErrNoKey)
}

// edit finds a schedule for changing; a missing one is an error.
func edit(c *commands.Ctx, key []byte) (*schedule.Schedule, *structures.Change, error) {
	return commands.EditExisting[*schedule.Schedule](c, key, commands.ErrNoKey)
}

func create(c *commands.Ctx) error {
	key := c.Args.Key()
	cfg := readConfig(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := commands.CheckAbsent[*schedule.Schedule](c, key, commands.ErrBusyKey); err != nil {
		return err
	}
	s := schedule.New(c.Tx.HashKeys().Fields)
	if err := s.Create(nil, cfg, c.Now); err != nil {
		return wireError(err)
	}
	if err := commands.Store(c, key, s); err != nil {
		return err
	}
	c.Notify(commands.EventModule, "sched.create", key)
	c.Reply.OK()
	return nil
}

// readConfig reads the options of SCHED.CREATE. Without SEED the seed is
// random, so that no two schedules make the same random choices.
func readConfig(c *commands.Ctx) schedule.Config {
	a, cfg, seeded := &c.Args, schedule.DefaultConfig(), false
	cfg.Policy = ""
	var once commands.Once
	for a.More() {
		switch once.Word(a) {
		case "POLICY":
			name := a.String()
			if spec, err := scheduler.PolicyNamed(name); err != nil {
				a.Fail(errPolicy(name))
			} else {
				cfg.Policy = spec.Name
			}
		case "ESTIMATOR":
			cfg.Estimator = a.String()
			if _, err := scheduler.EstimatorNamed(cfg.Estimator); err != nil {
				a.Fail(errEstimator(cfg.Estimator))
			}
			if a.Is("K") {
				if cfg.Window = a.Float(); !(cfg.Window > 0 && cfg.Window <= scheduler.MaxNumber) {
					a.Fail(errWindow)
				}
			}
		case "PROBES":
			cfg.Probes = int(a.IntIn(1, schedule.MaxCount, errCount))
		case "SEED":
			cfg.Seed, seeded = uint64(a.IntIn(0, math.MaxInt64, commands.ErrMustBePositive)), true
		case "CLOCK":
			cfg.StepMillis = readClock(a)
		case "LEASE":
			cfg.LeaseMillis = a.IntIn(0, schedule.MaxMillis, errMillis)
		case "EXPLORE":
			cfg.Explore = a.Float()
			if !(cfg.Explore >= 0 && cfg.Explore <= 1) {
				a.Fail(errExplore)
			}
		case "QUIET":
			cfg.QuietMillis = a.IntIn(0, schedule.MaxMillis, errMillis)
		case "BUDGET":
			cfg.Budget = readBudget(a)
		case "PRICE":
			cfg.Price = readPrice(a)
		case "GROUPBY":
			if cfg.ByHost = a.Is("HOST"); !cfg.ByHost {
				a.Syntax()
			}
		default:
			a.Syntax()
		}
	}
	if !seeded {
		cfg.Seed = c.RandomSeed()
	}
	return cfg
}

// readBudget reads a budget; 0 is none.
func readBudget(a *commands.Args) float64 {
	b := a.Float() + 0
	if !(b == 0 || b >= scheduler.MinCost && b <= scheduler.MaxNumber) {
		a.Fail(errBudget)
	}
	return b
}

// readPrice reads a price of probes; 0: it is learnt.
func readPrice(a *commands.Args) float64 {
	v := a.Float() + 0
	if !(v == 0 || v >= 1e-100 && v <= scheduler.MaxNumber) {
		a.Fail(errPrice)
	}
	return v
}

// readClock reads STEP, or WALL and the milliseconds of a step.
func readClock(a *commands.Args) (stepMillis int64) {
	switch a.Word() {
	case "STEP":
		return 0
	case "WALL":
		return a.IntIn(1, schedule.MaxMillis, errMillis)
	}
	a.Syntax()
	return 0
}
