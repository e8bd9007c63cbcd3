{{- define "vigil.name" -}}
{{- if eq .Release.Name .Chart.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "vigil.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vigil.labels" -}}
{{ include "vigil.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "vigil.secret" -}}
{{ .Values.auth.existingSecret | default (include "vigil.name" .) }}
{{- end -}}

{{/* The stateful sets: one, or one for each group of a cluster. */}}
{{- define "vigil.sets" -}}
{{- $name := include "vigil.name" . -}}
{{- if eq .Values.mode "cluster" -}}
{{- range $i := until (int .Values.cluster.shards) }}{{ printf "%s-%d " $name $i }}{{ end -}}
{{- else }}{{ $name }}{{ end -}}
{{- end -}}

{{- define "vigil.replicas" -}}
{{- if eq .Values.mode "cluster" }}{{ .Values.cluster.replicasPerShard }}{{ else if eq .Values.mode "group" }}{{ .Values.group.replicas }}{{ else }}1{{ end -}}
{{- end -}}

{{/* Where a pod is found: (list root set index). */}}
{{- define "vigil.host" -}}
{{- $root := index . 0 -}}
{{ printf "%s-%d.%s-pods.%s.svc.%s:%d" (index . 1) (index . 2) (include "vigil.name" $root) $root.Release.Namespace $root.Values.clusterDomain (int $root.Values.port) }}
{{- end -}}

{{/* The configuration of the servers of a set: (list root set index-of-set). */}}
{{- define "vigil.conf" -}}
{{- $root := index . 0 }}{{ $set := index . 1 }}{{ $at := index . 2 }}{{ $v := $root.Values -}}
bind * -::*
dir /data
{{- if $v.tls.existingSecret }}
port 0
tls-port {{ $v.port }}
tls-cert-file /etc/vigil-tls/tls.crt
tls-key-file /etc/vigil-tls/tls.key
tls-ca-cert-file /etc/vigil-tls/ca.crt
tls-auth-clients {{ $v.tls.authClients }}
tls-auto-reload-interval 60
{{- if ne $v.mode "single" }}
tls-cluster yes
{{- end }}
{{- else }}
port {{ $v.port }}
{{- end }}
{{- if $v.metrics.enabled }}
http-port {{ $v.metrics.port }}
http-bind * -::*
{{- end }}
{{- if ne $v.mode "single" }}
{{- $members := list }}
{{- range $i := untilStep 1 (int (add1 (include "vigil.replicas" $root | int))) 1 }}
{{- $members = append $members (printf "%d=%s" $i (include "vigil.host" (list $root $set $i))) }}
{{- end }}
cluster-members {{ join " " $members | quote }}
{{- if eq $v.mode "group" }}
cluster-view {{ $v.group.view }}
cluster-name {{ $v.group.name }}
{{- else }}
cluster-view cluster
cluster-group {{ $set }}
{{- $n := int $v.cluster.shards }}
cluster-slots {{ div (mul $at 16384) $n }}-{{ sub (div (mul (add1 $at) 16384) $n) 1 }}
{{- $peers := list }}
{{- range $other := splitList " " (include "vigil.sets" $root | trim) }}
{{- if ne $other $set }}
{{- range $i := untilStep 1 (int (add1 (include "vigil.replicas" $root | int))) 1 }}
{{- $peers = append $peers (include "vigil.host" (list $root $other $i)) }}
{{- end }}
{{- end }}
{{- end }}
cluster-peers {{ join " " $peers | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $v.config }}
{{ $name }} {{ $value }}
{{- end }}
include /etc/vigil-secret/secret.conf
{{- end -}}
