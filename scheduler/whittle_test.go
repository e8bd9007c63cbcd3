package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestInterestAgreesWithKnownAnswers(t *testing.T) {
	for name, a := range known(t) {
		part := strings.Split(name, "/")
		if !strings.HasPrefix(part[0], "table1") {
			continue
		}
		_, models := table1(part[0] == "table1_w")
		var age int64
		if len(part) == 3 {
			fmt.Sscanf(part[2], "age=%d", &age)
		}
		var got []float64
		for _, m := range models {
			switch part[1] {
			case "alpha":
				got = append(got, math.Exp(-m.Decay))
			case "state_limit":
				got = append(got, m.Limit())
			case "gamma":
				got = append(got, m.Index(age))
			case "state":
				got = append(got, m.Reward(age))
			case "u", "constant_arm_reward":
				got = append(got, m.Reward(1))
			}
		}
		if got != nil {
			nearAll(t, name, got, a.list(t), a.Rtol)
		}
	}
}

func TestIndexOfStateAgreesWithKnownAnswers(t *testing.T) {
	a := known(t)["gamma_x/offlattice"]
	_, models := table1(false)
	for i, want := range a.list(t) {
		if got := models[1].IndexOfState(a.X[i]); math.Abs(got-want) > a.Rtol*max(1, want) {
			t.Errorf("gamma(%g): got %.15g, want %.15g", a.X[i], got, want)
		}
	}
}

func TestFiniteMaxAgeAgreesWithKnownAnswers(t *testing.T) {
	a := known(t)["finite_M_exact/M=3"]
	m := Interest{Weight: 1, Arrival: 250, Decay: .35, Cost: 1, MaxAge: 3}
	for i, want := range a.list(t) {
		near(t, fmt.Sprintf("x(%d)", a.Ages[i]), m.Reward(a.Ages[i]), want, a.Rtol)
	}
	for age := int64(1); age < 8; age++ {
		want := float64(age+1)*m.Reward(age) - float64(age)*m.Reward(age+1)
		near(t, fmt.Sprintf("gamma(%d)", age), m.Index(age), want, 1e-9)
	}
}

// P2's closed form, its equations (4) and (5), and the definition of the index
// as the price at which waiting one more step changes nothing must all agree.
func TestThreeFormsOfTheIndexAgree(t *testing.T) {
	for _, c := range []float64{.01, .21, .5, .7, 2} {
		m := Interest{Weight: .3, Arrival: 17, Decay: c, Cost: 2.5}
		for age := int64(1); float64(age)*c < 12; age++ {
			name := fmt.Sprintf("c=%g a=%d", c, age)
			defined := (float64(age+1)*m.Reward(age) - float64(age)*m.Reward(age+1)) / m.Cost
			near(t, name+" by definition", m.Index(age), defined, 1e-8)
			// A state a little below x(a) has the same zeta as x(a-1).
			near(t, name+" by (4)", m.Index(age), m.IndexOfState(m.Reward(age)*(1-1e-12)), 1e-6)
		}
	}
}

func TestIndexIsTheLimitForSmallDecay(t *testing.T) {
	for _, c := range []float64{1e-6, 1e-9, 1e-12} {
		m := Interest{Weight: 1, Arrival: .25, Decay: c, Cost: 1}
		for _, age := range []int64{1, 2, 10, 100} {
			n := Node{Params: DefaultParams(), Estimate: .25}
			near(t, fmt.Sprintf("c=%g a=%d", c, age), m.Index(age)/c, ageIndex(&n, age), 200*c+1e-12)
		}
	}
}

func TestIndexNeverDecreasesWithAge(t *testing.T) {
	for _, c := range []float64{1e-8, 1e-4, .003, .21, .7, 3, 50} {
		m := Interest{Weight: 1, Arrival: 1, Decay: c, Cost: 1}
		last := 0.0
		for age := int64(1); age < 5000; age++ {
			v := m.Index(age)
			if v < last*(1-1e-13) {
				t.Fatalf("c=%g: gamma(%d) = %.17g, gamma(%d) = %.17g", c, age-1, last, age, v)
			}
			last = v
		}
		if limit := m.Limit(); last > limit*(1+1e-12) {
			t.Errorf("c=%g: index %g passes its limit %g", c, last, limit)
		}
	}
}

func TestWhittleWithoutDecayPicksAsIndexDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 1))
	rates := make([]float64, 100)
	for i := range rates {
		rates[i] = rng.Float64() // no two values are ever equal but for rounding
	}
	_, want := picksOf(t, "index", nodesOf(rates), rates, 3, 3000)
	_, got := picksOf(t, "whittle", nodesOf(rates), rates, 3, 3000)
	if !reflect.DeepEqual(got, want) {
		t.Error("whittle without decay picks other nodes than index")
	}
}

func TestNodesWithoutDecayWaitForThoseWithOne(t *testing.T) {
	table := new(Table)
	for slot := range 4 {
		p := DefaultParams()
		p.Rate = float64(1 + slot)
		if slot == 1 {
			p.Decay = .1
		}
		Enter(table, fixed{}, slot, p, 0)
	}
	p := policyNamed(t, "whittle").New()
	p.Attach(table)
	if got := p.Pick(nil, 100, 4, nil); !slices.Equal(got, []int{1, 3, 2, 0}) {
		t.Errorf("got %v, want 1 first and the others by rate", got)
	}
}

// Without decay and with a maximal age M an item is lost after M steps, and the
// index from there on is what all M steps bring.
func TestMaxAgeMakesWaitingCostlyWithoutDecay(t *testing.T) {
	m := Interest{Weight: 2, Arrival: 3, Cost: 4, MaxAge: 10}
	for _, age := range []int64{10, 11, 1000} {
		near(t, fmt.Sprintf("index at %d", age), m.Index(age), 2*3*10/4., 1e-12)
	}
	if v := m.Index(9); v > 1e-12 {
		t.Errorf("index at 9: %g, want about 0", v)
	}
}
