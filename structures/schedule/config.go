package schedule

import "github.com/vigildb/vigil/scheduler"

// Limits of a configuration and of the arguments of Next.
const (
	// MaxCount bounds the probes of one step.
	MaxCount = 1 << 16
	// MaxMillis bounds leases and lengths of steps: 34 years. Twice as much
	// added to a time of this millennium stays exact in every format.
	MaxMillis = 1 << 40
	// MaxName bounds the name of a node in bytes.
	MaxName = 8192
	// DefaultLeaseMillis is the lease of a schedule that names none.
	DefaultLeaseMillis = 60_000

	maxTime = 1 << 50 // milliseconds since 1970; later times count as this
)

// Config holds what a schedule is created with. Alter changes some of it.
type Config struct {
	Policy    string  // name of a policy; "" is "index"
	Estimator string  // name of an estimator; "" is the policy's own
	Probes    int     // c, nodes that Next returns by default
	Window    float64 // K of the estimator `window`, in items
	Seed      uint64  // of the policies that draw
	// StepMillis is the length of a step of the wall clock; 0 is the step
	// clock, where every Next is one step.
	StepMillis  int64
	LeaseMillis int64 // lease of a Next that names none; 0 is no lease
	// Explore is the fraction of probes that go to nodes drawn uniformly,
	// independently of the policy.
	Explore float64
	// QuietMillis is how long after a hand-out signals of the node are old news:
	// they tell of what the probe finds.
	QuietMillis int64
	// ByHost: a node that is an address and is given no group belongs to that of its
	// host, see HostOf.
	ByHost bool
	// Budget is what the probes of a step may cost in the mean, by COST of their
	// nodes. Zero: Probes are counted. With it Next without a count hands out nodes
	// while something is left.
	Budget float64
	// Price is the price of a probe that the policy lagrange goes by. Zero: it is
	// learnt.
	Price float64
}

// DefaultConfig is the default configuration of a schedule.
func DefaultConfig() Config {
	return Config{Policy: "index", Probes: 1, Window: scheduler.DefaultWindow, LeaseMillis: DefaultLeaseMillis}
}

// Check returns the error that Create would: one of this package's, or one that
// wraps scheduler.ErrPolicy or scheduler.ErrEstimator and lists the names.
func (c *Config) Check() error {
	_, _, err := c.resolve()
	return err
}

// resolve checks a configuration and finds its policy and estimator.
func (c *Config) resolve() (p scheduler.PolicySpec, e scheduler.EstimatorSpec, err error) {
	policy, estimator := c.Policy, c.Estimator
	if policy == "" {
		policy = scheduler.Policies()[0].Name
	}
	if p, err = scheduler.PolicyNamed(policy); err != nil {
		return p, e, err
	}
	if estimator == "" {
		estimator = p.Estimator
	}
	if e, err = scheduler.EstimatorNamed(estimator); err != nil {
		return p, e, err
	}
	if c.Budget > 0 && !p.Ranks {
		return p, e, ErrNoBudget
	}
	return p, e, c.checkNumbers()
}

func (c *Config) checkNumbers() error {
	switch {
	case c.Probes < 1 || c.Probes > MaxCount:
		return ErrCount
	case !(c.Window > 0 && c.Window <= scheduler.MaxNumber):
		return ErrWindow
	case c.StepMillis < 0 || c.StepMillis > MaxMillis:
		return ErrStepMillis
	case c.LeaseMillis < 0 || c.LeaseMillis > MaxMillis:
		return ErrLease
	case !(c.Explore >= 0 && c.Explore <= 1):
		return ErrExplore
	case c.Budget != 0 && !(c.Budget >= scheduler.MinCost && c.Budget <= scheduler.MaxNumber):
		return ErrBudget
	case c.Price != 0 && !(c.Price >= minParam && c.Price <= scheduler.MaxNumber):
		return ErrPriceOf
	case c.QuietMillis < 0 || c.QuietMillis > MaxMillis:
		return ErrQuiet
	}
	return nil
}
