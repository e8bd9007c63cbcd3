package commands

import (
	"errors"
	"math"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/schedule"
)

func SchedGroup() Group {
	read, change := []KeySpec{Key(1, RO|Access)}, []KeySpec{Key(1, RW|Access|Update)}
	return Group{Name: "sched", Commands: append([]Command{
		{Name: "SCHED.CREATE", Arity: -2, Flags: Write | DenyOOM, Keys: []KeySpec{Key(1, OW|Insert)},
			Syntax: "key [POLICY policy] [PROBES probes] [ESTIMATOR estimator [K items]] [SEED seed] [CLOCK STEP|WALL milliseconds] [LEASE milliseconds] [EXPLORE fraction]",
			Since:  "0.1.0", Cost: "O(1)", Summary: "Makes a schedule that decides which of its nodes to probe next.", Run: schedCreate},
		{Name: "SCHED.ADD", Arity: -3, Flags: Write | DenyOOM, Keys: []KeySpec{Key(1, RW|Insert)},
			Syntax: "key node [RATE rate] [WEIGHT weight] [DECAY decay] [ARRIVAL rate] [COST cost] [MAXAGE steps] [node ...]",
			Since:  "0.1.0", Cost: "O(log n) for each node",
			Summary: "Adds nodes to a schedule, or gives its nodes other parameters.", Run: schedAdd},
		{Name: "SCHED.REM", Arity: -3, Flags: Write, Keys: []KeySpec{Key(1, RW|Delete)}, Syntax: "key node [node ...]",
			Since: "0.1.0", Cost: "O(log n) for each node", Summary: "Removes nodes from a schedule.", Run: schedRem},
		{Name: "SCHED.NEXT", Arity: -2, Flags: Write, Keys: change,
			Syntax: "key [COUNT count] [LEASE milliseconds] [WITHSTATS]", Since: "0.1.0", Cost: "O(log n) for each node answered",
			Summary: "Advances a schedule by a step and hands out the nodes to probe now.", Run: schedNext},
		{Name: "SCHED.PEEK", Arity: -2, Flags: ReadOnly, Keys: read, Syntax: "key [COUNT count] [WITHSTATS]",
			Since: "0.1.0", Cost: "O(log n) for each node answered",
			Summary: "Answers what SCHED.NEXT would and changes nothing.", Run: schedPeek},
		{Name: "SCHED.OBSERVE", Arity: -4, Flags: Write, Keys: change, Syntax: "key node items [node items ...]",
			Since: "0.1.0", Cost: "O(log n) for each node",
			Summary: "Tells what the probes of nodes found and ends their leases.", Run: schedObserve},
		{Name: "SCHED.FAIL", Arity: -3, Flags: Write, Keys: change, Syntax: "key node [node ...]", Since: "0.1.0",
			Cost: "O(log n) for each node", Summary: "Tells that probes did not happen: nodes are as before they were handed out.", Run: schedFail},
		{Name: "SCHED.INFO", Arity: 2, Flags: ReadOnly | Fast, Keys: read, Syntax: "key", Since: "0.1.0", Cost: "O(1)",
			Summary: "Describes a schedule.", Run: schedInfo},
		{Name: "SCHED.NODE", Arity: 3, Flags: ReadOnly | Fast, Keys: read, Syntax: "key node", Since: "0.1.0", Cost: "O(1)",
			Summary: "Describes a node of a schedule.", Run: schedNode},
		{Name: "SCHED.NODES", Arity: -3, Flags: ReadOnly, Keys: read, Syntax: "key cursor [MATCH pattern] [COUNT count]",
			Since: "0.1.0", Cost: "O(1) for each call, O(n) for all n nodes",
			Summary: "Iterates over the nodes of a schedule.", Run: schedNodes},
	}, costRows(read)...)}
}

// schedError words what package schedule says.
func schedError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, schedule.ErrNoNode):
		return ErrSchedNode
	case errors.Is(err, schedule.ErrNotLeased):
		return ErrSchedLease
	case errors.Is(err, schedule.ErrItems):
		return ErrSchedItems
	case errors.Is(err, schedule.ErrName):
		return ErrSchedName
	case errors.Is(err, schedule.ErrFull):
		return ErrSchedFull
	case errors.Is(err, schedule.ErrSteps):
		return ErrSchedSteps
	case errors.Is(err, schedule.ErrCount):
		return ErrSchedCount
	case errors.Is(err, schedule.ErrWindow):
		return ErrSchedWindow
	case errors.Is(err, scheduler.ErrNumber):
		return ErrSchedNumber
	case errors.Is(err, scheduler.ErrCost):
		return ErrSchedCost
	case errors.Is(err, scheduler.ErrMaxAge):
		return ErrSchedMaxAge
	case errors.Is(err, scheduler.ErrDecay):
		return ErrSchedDecay
	}
	return err
}

// viewSchedule finds a schedule for reading; a missing one is an error.
func viewSchedule(c *Ctx, key []byte) (*schedule.Schedule, error) {
	return ViewExisting[*schedule.Schedule](c, key)
}

// editSchedule finds a schedule for changing; a missing one is an error.
func editSchedule(c *Ctx, key []byte) (*schedule.Schedule, *structures.Change, error) {
	return EditExisting[*schedule.Schedule](c, key)
}

func schedCreate(c *Ctx) error {
	key := c.Args.Key()
	cfg := readSchedConfig(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	switch _, err := viewSchedule(c, key); {
	case err == nil:
		return ErrBusyKey
	case err != ErrNoKey:
		return err
	}
	s := schedule.New(c.Tx.HashKeys().Fields)
	if err := s.Create(nil, cfg, c.Now); err != nil {
		return schedError(err)
	}
	c.NotifyNew(key)
	persistence.Replace(c.Tx, key, s, persistence.NoExpiry)
	c.Notify(EventModule, "sched.create", key)
	c.Reply.OK()
	return nil
}

// readSchedConfig reads the options of SCHED.CREATE. Without SEED the seed is
// drawn: two schedules shall not draw alike.
func readSchedConfig(c *Ctx) schedule.Config {
	a, cfg, seeded := &c.Args, schedule.DefaultConfig(), false
	cfg.Policy = ""
	for a.More() {
		switch a.Word() {
		case "POLICY":
			name := a.String()
			if spec, err := scheduler.PolicyNamed(name); err != nil {
				a.Fail(ErrSchedPolicy(name))
			} else {
				cfg.Policy = spec.Name
			}
		case "ESTIMATOR":
			cfg.Estimator = a.String()
			if _, err := scheduler.EstimatorNamed(cfg.Estimator); err != nil {
				a.Fail(ErrSchedEstimator(cfg.Estimator))
			}
			if a.Is("K") {
				if cfg.Window = a.Float(); !(cfg.Window > 0 && cfg.Window <= scheduler.MaxNumber) {
					a.Fail(ErrSchedWindow)
				}
			}
		case "PROBES":
			cfg.Probes = int(a.IntIn(1, schedule.MaxCount, ErrSchedCount))
		case "SEED":
			cfg.Seed, seeded = uint64(a.IntIn(0, math.MaxInt64, ErrMustBePositive)), true
		case "CLOCK":
			cfg.StepMillis = schedClock(a)
		case "LEASE":
			cfg.LeaseMillis = a.IntIn(0, schedule.MaxMillis, ErrSchedMillis)
		case "EXPLORE":
			cfg.Explore = a.Float()
			if !(cfg.Explore >= 0 && cfg.Explore <= 1) {
				a.Fail(ErrSchedExplore)
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

// schedClock reads STEP, or WALL and the milliseconds of a step.
func schedClock(a *Args) (stepMillis int64) {
	switch a.Word() {
	case "STEP":
		return 0
	case "WALL":
		return a.IntIn(1, schedule.MaxMillis, ErrSchedMillis)
	}
	a.Syntax()
	return 0
}
