package service

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// outcome is what became of a request.
type outcome string

const (
	answered outcome = "answered"
	late     outcome = "late"    // older than the budget: not answered
	refused  outcome = "refused" // its payload made no sense
	failed   outcome = "failed"  // the store refused or was not there
	full     outcome = "full"    // dropped: the queue was full
	flood    outcome = "flood"   // dropped: its session had too much waiting
)

var outcomes = []outcome{answered, late, refused, failed, full, flood}

// metrics are what /metrics shows of the service.
type metrics struct {
	requests  *prometheus.CounterVec
	malformed prometheus.Counter
	seconds   *prometheus.HistogramVec
	batch     prometheus.Histogram
	connected prometheus.Gauge
	connects  prometheus.Counter
	breaks    prometheus.Counter
	reloads   *prometheus.CounterVec
	loaded    prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, waiting func() float64) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{Name: "vigil_session_requests_total",
			Help: "Requests by command and what became of them."}, []string{"command", "outcome"}),
		malformed: f.NewCounter(prometheus.CounterOpts{Name: "vigil_session_malformed_total",
			Help: "Messages on channels that name no request."}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "vigil_session_request_seconds",
			Help:    "Time from hearing a request to having sent its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 14)}, []string{"command"}),
		batch: f.NewHistogram(prometheus.HistogramOpts{Name: "vigil_session_pipeline_requests",
			Help: "Requests and answers in one pipeline.", Buckets: prometheus.ExponentialBuckets(1, 2, 8)}),
		connected: f.NewGauge(prometheus.GaugeOpts{Name: "vigil_session_subscribed",
			Help: "1 while requests are heard."}),
		connects: f.NewCounter(prometheus.CounterOpts{Name: "vigil_session_subscriptions_total",
			Help: "Subscriptions that came about, the first one included."}),
		breaks: f.NewCounter(prometheus.CounterOpts{Name: "vigil_session_subscription_failures_total",
			Help: "Subscriptions that ended or did not come about."}),
		reloads: f.NewCounterVec(prometheus.CounterOpts{Name: "vigil_session_config_reloads_total",
			Help: "Configurations taken and refused."}, []string{"result"}),
		loaded: f.NewGauge(prometheus.GaugeOpts{Name: "vigil_session_config_last_reload_successful",
			Help: "0 if the newest configuration was refused."}),
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "vigil_session_queue_requests",
		Help: "Requests that wait for a worker."}, waiting)
	// Series that exist from the start can be watched for their first increase.
	for _, c := range wire.Commands {
		for _, o := range outcomes {
			m.requests.WithLabelValues(c, string(o))
		}
		m.seconds.WithLabelValues(c)
	}
	m.reloads.WithLabelValues("taken")
	m.reloads.WithLabelValues("refused")
	m.loaded.Set(1)
	return m
}

func (m *metrics) done(r message, o outcome, now time.Time) {
	m.requests.WithLabelValues(r.Command, string(o)).Inc()
	if o == answered {
		m.seconds.WithLabelValues(r.Command).Observe(now.Sub(r.heard).Seconds())
	}
}
