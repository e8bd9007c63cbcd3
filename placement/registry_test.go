package placement

import "testing"

func TestNumbersOfStrategiesAreFrozen(t *testing.T) {
	names := []string{"", "static", "twochoice", "nearest", "cutpaste", "share", "sieve", "sieve-abs", "slots",
		"jump", "rendezvous", "maglev", "jumpback", "copysets"}
	for i, spec := range Strategies() {
		if int(spec.Number) != i+1 || spec.Name != names[i+1] {
			t.Errorf("strategy %d is %s, want %s in row %d", spec.Number, spec.Name, names[i+1], i+1)
		}
		if spec.Summary == "" || spec.New == nil || spec.MaxUnits < 1 || spec.MaxUnits > MaxUnits {
			t.Errorf("row of %s is incomplete: %+v", spec.Name, spec)
		}
	}
	if got, err := Lookup(DefaultStrategy); err != nil || got.Number != 7 {
		t.Errorf("default strategy: got %+v, %v", got, err)
	}
	if _, err := Lookup("SIEVE-ABS"); err != ErrStrategy {
		t.Errorf("upper case: got %v, want ErrStrategy", err)
	}
}
