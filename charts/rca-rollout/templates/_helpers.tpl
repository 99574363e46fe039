{{- define "rca-rollout.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" }}
{{- end }}

{{- define "rca-rollout.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" }}
{{- else if contains (include "rca-rollout.name" .) .Release.Name }}
{{- .Release.Name | trunc 53 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "rca-rollout.name" .) | trunc 53 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "rca-rollout.selector" -}}
app.kubernetes.io/name: {{ include "rca-rollout.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rca-rollout.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "rca-rollout.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "rca-rollout.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "rca-rollout.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- /* An image by digest if there is one, else by tag. Takes {image, version}. */ -}}
{{- define "rca-rollout.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ default .version .image.tag }}
{{- end }}
{{- end }}

{{- /* The watched namespaces as a comma list; empty means all of them. */ -}}
{{- define "rca-rollout.namespaces" -}}
{{- if not .Values.watch.clusterWide -}}
{{ default (list .Release.Namespace) .Values.watch.namespaces | join "," }}
{{- end }}
{{- end }}

{{- /* The Lease of what is watched, the same for every release that watches it: as runtime/lease_place.py names it. */ -}}
{{- define "rca-rollout.leaseName" -}}
{{- $watched := default (list .Release.Namespace) .Values.watch.namespaces | uniq | sortAlpha -}}
{{- if .Values.watch.clusterWide -}}
rca-rollout-cluster
{{- else if eq (len $watched) 1 -}}
rca-rollout
{{- else -}}
rca-rollout-{{ $watched | join "," | sha256sum | trunc 8 }}
{{- end }}
{{- end }}

{{- define "rca-rollout.leaseNamespace" -}}
{{- $watched := default (list .Release.Namespace) .Values.watch.namespaces | sortAlpha -}}
{{- $first := ternary .Release.Namespace (first $watched) .Values.watch.clusterWide -}}
{{ default $first .Values.leaderElection.namespace }}
{{- end }}

{{- /* One Lease by its name; that it may be made cannot be granted by name. */ -}}
{{- define "rca-rollout.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: ['{{ include "rca-rollout.leaseName" . }}']
  verbs: [get, update]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
{{- end }}

{{- /* What the operator does, and nothing it does not: tests/unit/tooling/test_chart.py holds this against the code. */ -}}
{{- define "rca-rollout.secretRules" -}}
# Inputs with secretRef: a digest of the value is kept, and nothing else. The right cannot be narrowed to what is named there.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}

{{- define "rca-rollout.rules" -}}
- apiGroups: [rca.bluerobin.io]
  resources: [evalsuites, rcacomponents]
  verbs: [get, list, watch]
- apiGroups: [rca.bluerobin.io]
  resources: [evalruns]
  verbs: [get, list, watch, create, delete]
# The finalizer of deletionPolicy RevertToShadow.
- apiGroups: [rca.bluerobin.io]
  resources: [rcacomponents]
  verbs: [patch]
- apiGroups: [rca.bluerobin.io]
  resources: [evalsuites/status, rcacomponents/status, evalruns/status]
  verbs: [update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# What a component's workloadRef names. Read by name, never watched.
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [get]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# Datasets and baselines are read, scorecards created, one key of an opted-in ConfigMap patched. Never deleted.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch]
# Listed only about a Job or Pod of ours that does not start: nothing else tells which quota or policy refused it.
- apiGroups: [""]
  resources: [events]
  verbs: [create, list]
{{- end }}
