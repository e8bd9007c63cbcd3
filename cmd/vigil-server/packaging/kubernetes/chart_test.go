// Package kubernetes has the Helm chart. Its tests render the chart with Helm's own engine, read what comes out as Kubernetes does, and run the
// command lines of the pods with the real server.
package kubernetes

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// installed is what the chart makes of some values.
type installed struct {
	sets     map[string]*appsv1.StatefulSet
	configs  map[string]*corev1.ConfigMap
	secrets  map[string]*corev1.Secret
	services map[string]*corev1.Service
	accounts map[string]*corev1.ServiceAccount
	budgets  map[string]*policyv1.PodDisruptionBudget
	monitors map[string]*serviceMonitor
	notes    string
}

// serviceMonitor is what the chart uses of the kind of Prometheus's operator.
type serviceMonitor struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		Endpoints []struct {
			Port      string `json:"port"`
			Path      string `json:"path"`
			Interval  string `json:"interval"`
			BasicAuth struct {
				Username corev1.SecretKeySelector `json:"username"`
				Password corev1.SecretKeySelector `json:"password"`
			} `json:"basicAuth"`
		} `json:"endpoints"`
	} `json:"spec"`
}

const (
	password = `pass "word' \ $(x)`
	secret   = "0123456789abcdef0123"
)

// withSecrets are values that every mode needs.
func withSecrets(more ...string) []string {
	return append([]string{"auth.clusterSecret=" + secret}, more...)
}

// render installs the chart on paper, with values as a.b=c.
func render(t *testing.T, values ...string) (*installed, error) {
	t.Helper()
	chart, err := loader.Load("vigil")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	for _, v := range append([]string{"auth.password=" + password}, values...) {
		name, text, _ := strings.Cut(v, "=")
		at, path := given, strings.Split(name, ".")
		for _, p := range path[:len(path)-1] {
			if at[p] == nil {
				at[p] = map[string]any{}
			}
			at = at[p].(map[string]any)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil || strings.HasSuffix(name, "password") {
			value = text
		}
		at[path[len(path)-1]] = value
	}
	all, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "shop", Namespace: "prod", Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	in := &installed{map[string]*appsv1.StatefulSet{}, map[string]*corev1.ConfigMap{}, map[string]*corev1.Secret{}, map[string]*corev1.Service{},
		map[string]*corev1.ServiceAccount{}, map[string]*policyv1.PodDisruptionBudget{}, map[string]*serviceMonitor{}, ""}
	for name, text := range files {
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			in.notes = text
		case strings.HasSuffix(name, ".yaml"):
			for part := range strings.SplitSeq("\n"+text, "\n---\n") {
				if strings.TrimSpace(part) != "" {
					in.take(t, name, part)
				}
			}
		}
	}
	return in, nil
}

// take reads an object, and refuses fields that its kind does not have.
func (in *installed) take(t *testing.T, file, text string) {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		t.Fatalf("%s: %v in\n%s", file, err, text)
	}
	var err error
	switch head.APIVersion + " " + head.Kind {
	case "apps/v1 StatefulSet":
		err = keep(in.sets, text, func(o *appsv1.StatefulSet) string { return o.Name })
	case "v1 ConfigMap":
		err = keep(in.configs, text, func(o *corev1.ConfigMap) string { return o.Name })
	case "v1 Secret":
		err = keep(in.secrets, text, func(o *corev1.Secret) string { return o.Name })
	case "v1 Service":
		err = keep(in.services, text, func(o *corev1.Service) string { return o.Name })
	case "v1 ServiceAccount":
		err = keep(in.accounts, text, func(o *corev1.ServiceAccount) string { return o.Name })
	case "policy/v1 PodDisruptionBudget":
		err = keep(in.budgets, text, func(o *policyv1.PodDisruptionBudget) string { return o.Name })
	case "monitoring.coreos.com/v1 ServiceMonitor":
		err = keep(in.monitors, text, func(o *serviceMonitor) string { return o.Metadata.Name })
	default:
		err = fmt.Errorf("an object %q", head)
	}
	if err != nil {
		t.Fatalf("%s: %v in\n%s", file, err, text)
	}
}

func keep[T any](all map[string]*T, text string, name func(*T) string) error {
	o := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
		return err
	}
	if n := name(o); n == "" || all[n] != nil || len(n) > 52 { // a pod's name is a label, and has a number more
		return fmt.Errorf("the name %q is none, too long or used twice", n)
	}
	all[name(o)] = o
	return nil
}

func mustRender(t *testing.T, values ...string) *installed {
	t.Helper()
	in, err := render(t, values...)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// modes are the ways of running vigil with how many sets and pods of each they have.
var modes = []struct {
	name       string
	values     []string
	sets, pods int
}{
	{"single", []string{"mode=single"}, 1, 1},
	{"group", withSecrets("mode=group"), 1, 3},
	{"group of five with TLS", withSecrets("mode=group", "group.replicas=5", "tls.existingSecret=certs"), 1, 5},
	{"cluster", withSecrets("mode=cluster", "metrics.serviceMonitor.enabled=true"), 3, 3},
}

func TestPiecesOfTheChartFitEachOther(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			in := mustRender(t, m.values...)
			if len(in.sets) != m.sets || len(in.services) != 2 || len(in.secrets) != 1 {
				t.Fatalf("%d sets, %d services, %d secrets", len(in.sets), len(in.services), len(in.secrets))
			}
			for name, set := range in.sets {
				checkSet(t, in, name, set, m.pods)
			}
			for name, s := range in.services {
				for _, set := range in.sets {
					if !selects(s.Spec.Selector, set.Spec.Template.Labels) {
						t.Errorf("service %s selects no pods of %s", name, set.Name)
					}
				}
			}
			if wanted := m.sets > 1; (len(in.monitors) == 1) != wanted {
				t.Errorf("%d monitors", len(in.monitors))
			}
			for _, mon := range in.monitors {
				s := in.services["shop-vigil"]
				auth := mon.Spec.Endpoints[0].BasicAuth
				if !selects(mon.Spec.Selector.MatchLabels, s.Labels) || !hasPort(s, mon.Spec.Endpoints[0].Port) ||
					in.secrets[auth.Password.Name].StringData[auth.Password.Key] != password || in.secrets[auth.Username.Name].StringData[auth.Username.Key] != "default" {
					t.Errorf("the monitor finds nothing: %+v", mon)
				}
			}
			for _, c := range in.configs {
				if text := fmt.Sprint(c.Data); strings.Contains(text, "word") || strings.Contains(text, secret) {
					t.Errorf("a secret is in the ConfigMap %s", c.Name)
				}
			}
			if !strings.Contains(in.notes, "shop-vigil.prod.svc") {
				t.Errorf("notes: %s", in.notes)
			}
		})
	}
}

func checkSet(t *testing.T, in *installed, name string, set *appsv1.StatefulSet, pods int) {
	t.Helper()
	spec := set.Spec.Template.Spec
	c := spec.Containers[0]
	if int(*set.Spec.Replicas) != pods || set.Spec.Ordinals.Start != 1 || in.services[set.Spec.ServiceName] == nil || in.services[set.Spec.ServiceName].Spec.ClusterIP != "None" {
		t.Errorf("%s: %d pods from %d, of service %s", name, *set.Spec.Replicas, set.Spec.Ordinals.Start, set.Spec.ServiceName)
	}
	if !selects(set.Spec.Selector.MatchLabels, set.Spec.Template.Labels) || in.accounts[spec.ServiceAccountName] == nil || *spec.TerminationGracePeriodSeconds < 90 {
		t.Errorf("%s: labels %v, account %s", name, set.Spec.Template.Labels, spec.ServiceAccountName)
	}
	for _, other := range in.sets {
		if other != set && selects(set.Spec.Selector.MatchLabels, other.Spec.Template.Labels) {
			t.Errorf("%s selects pods of %s", name, other.Name)
		}
	}
	if (set.Spec.MinReadySeconds >= 5) != (pods > 1) {
		t.Errorf("%s: a rollout goes on after %d s", name, set.Spec.MinReadySeconds)
	}
	if c.StartupProbe == nil || c.LivenessProbe.TCPSocket == nil || c.ReadinessProbe.Exec == nil || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s lacks a probe, or a limit", name)
	}
	if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !*spec.SecurityContext.RunAsNonRoot {
		t.Errorf("%s may do too much", name)
	}
	volumes := map[string]bool{set.Spec.VolumeClaimTemplates[0].Name: true}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
		if v.ConfigMap != nil && in.configs[v.ConfigMap.Name] == nil || v.Secret != nil && in.secrets[v.Secret.SecretName] == nil && v.Secret.SecretName != "certs" {
			t.Errorf("%s: volume %s is of nothing", name, v.Name)
		}
		if v.Secret != nil && *v.Secret.DefaultMode != 0o440 {
			t.Errorf("%s: volume %s has mode %o", name, v.Name, *v.Secret.DefaultMode)
		}
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s: no volume %s", name, m.Name)
		}
		delete(volumes, m.Name)
	}
	if len(volumes) > 0 {
		t.Errorf("%s: volumes %v are not mounted", name, slices.Collect(maps.Keys(volumes)))
	}
	budget := in.budgets[name]
	if (budget == nil) != (pods == 1) || budget != nil && (budget.Spec.MaxUnavailable.IntValue() != 1 || !selects(budget.Spec.Selector.MatchLabels, set.Spec.Template.Labels)) {
		t.Errorf("%s: budget %+v", name, budget)
	}
}

func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

func hasPort(s *corev1.Service, name string) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == name })
}

// TestWhatCannotWorkIsRefused gives values that Helm is to refuse, before anything is made.
func TestWhatCannotWorkIsRefused(t *testing.T) {
	for want, values := range map[string][]string{
		"set auth.password":         {"auth.password="},
		"set auth.clusterSecret":    {"mode=group"},
		"clusterSecret":             {"mode=group", "auth.clusterSecret=short"},
		"mode":                      {"mode=twins"},
		"replicas":                  {"mode=group", "group.replicas=2"},
		"replicasPerShard":          {"mode=cluster", "cluster.replicasPerShard=1"},
		"shards":                    {"mode=cluster", "cluster.shards=1"},
		"passwort":                  {"auth.passwort=x"},
		"at '/config/appendonly'":   {"config.appendonly=false"},
		"additional properties":     {"persistance.size=1Gi"},
		"at '/port': maximum: got ": {"port=60000"},
	} {
		if _, err := render(t, values...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", values, err, want)
		}
	}
	in := mustRender(t, "auth.password=", "auth.existingSecret=mine", "mode=group")
	if len(in.secrets) != 0 || in.sets["shop-vigil"].Spec.Template.Spec.Volumes[1].Secret.SecretName != "mine" {
		t.Error("an existing secret is not used")
	}
}

// A change of the configuration or of a password starts the pods again, and nothing else does.
func TestOnlyChangesRestartPods(t *testing.T) {
	of := func(values ...string) map[string]string {
		return mustRender(t, values...).sets["shop-vigil"].Spec.Template.Annotations
	}
	first := of("mode=single")
	for _, x := range []struct {
		values []string
		same   bool
	}{{[]string{"mode=single", "podDisruptionBudget.enabled=false"}, true}, {[]string{"mode=single", "config.maxmemory=1gb"}, false}, {[]string{"mode=single", "auth.password=other"}, false}} {
		if got := of(x.values...); maps.Equal(got, first) != x.same {
			t.Errorf("%v: %v, before %v", x.values, got, first)
		}
	}
	if enc := base64.StdEncoding.EncodeToString([]byte(password)); strings.Contains(fmt.Sprint(first), enc) || strings.Contains(fmt.Sprint(first), "word") {
		t.Error("an annotation tells the password")
	}
}
