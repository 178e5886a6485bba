#compdef nodeinit

autoload -U is-at-least

_nodeinit() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_nodeinit_commands" \
"*::: :->nodeinit" \
&& ret=0
    case $state in
    (nodeinit)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-command-$line[1]:"
        case $line[1] in
            (up)
_arguments "${_arguments_options[@]}" : \
'--parallel=[Restart the kubelets of this many workers at a time, for example 3 or 10%; the default is \`rollout.parallel\`]:NUMBER|PERCENT:_default' \
'--led=[The lease of the leading master, which runs this here]:LED:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--new-cluster[Bootstrap an empty etcd even without proof that the cluster is new; an existing cluster'\''s data is lost]' \
'--yes[Do not ask for confirmation to discard the former cluster]' \
'(--new-cluster)--permit-stdin[Read a permit from standard input (one line of JSON)\: with it, the provisioner allows this machine to bootstrap etcd]' \
'(--lead)--local[Change only this machine; on the first master, leave the other machines alone]' \
'--lead[Bring up the other machines, too, from any master; the first master does so without this option]' \
'--insist[Use this master'\''s configuration although another master has a newer one]' \
'--no-drain[Cordon workers whose kubelet restarts with changed settings, but do not evict their pods]' \
'--at-boot[Keep this master'\''s static pods if they are healthy, and restart nothing on other machines, even if settings changed; nodeinit.service uses this]' \
'--accept-clock[Accept this machine'\''s clock although an earlier run recorded a later time]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
'--parallel=[Restart the kubelets of this many workers at a time, for example 3 or 10%; the default is \`rollout.parallel\`]:NUMBER|PERCENT:_default' \
'--led=[The lease of the leading master, which runs this here]:LED:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(--lead)--local[Change only this machine; on the first master, leave the other machines alone]' \
'--lead[Bring up the other machines, too, from any master; the first master does so without this option]' \
'--insist[Use this master'\''s configuration although another master has a newer one]' \
'--no-drain[Cordon workers whose kubelet restarts with changed settings, but do not evict their pods]' \
'--at-boot[Keep this master'\''s static pods if they are healthy, and restart nothing on other machines, even if settings changed; nodeinit.service uses this]' \
'--accept-clock[Accept this machine'\''s clock although an earlier run recorded a later time]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(preflight)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'-w[Show the status again every 2 s until stopped]' \
'--watch[Show the status again every 2 s until stopped]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(timeline)
_arguments "${_arguments_options[@]}" : \
'-o+[Format of the timeline]:OUTPUT:((text\:"Plain text for a terminal"
svg\:"An SVG picture"
html\:"An HTML page with the picture and a table"
json\:"One JSON object with the run and its steps"))' \
'--output=[Format of the timeline]:OUTPUT:((text\:"Plain text for a terminal"
svg\:"An SVG picture"
html\:"An HTML page with the picture and a table"
json\:"One JSON object with the run and its steps"))' \
'--run=[Which run\: 1 is the latest that changed something, 2 the one before it]:N:_default' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(reset)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--yes[Do not ask for confirmation]' \
'--force[Proceed even if the other masters'\'' etcd loses quorum or does not answer]' \
'--remove-aside[Also delete etcd data that was moved aside (\`nodeinit etcd aside list\`)]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(agent)
_arguments "${_arguments_options[@]}" : \
'--config=[The configuration file that \`up\` writes for the service]:FILE:_files' \
'--role=[This machine'\''s role, if the configuration does not list the machine]:ROLE:(first-master master worker bastion)' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(version)
_arguments "${_arguments_options[@]}" : \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(completion)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
':shell -- The shell:(bash fish zsh)' \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__config_commands" \
"*::: :->config" \
&& ret=0

    case $state in
    (config)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-config-command-$line[1]:"
        case $line[1] in
            (admit)
_arguments "${_arguments_options[@]}" : \
'--master[This machine is a master, which has the same configuration]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
':led -- The lease of the leading master:_default' \
&& ret=0
;;
(init)
_arguments "${_arguments_options[@]}" : \
'--file=[The file to write]:FILE:_files' \
'*--master=[A master; the first one starts the cluster; repeatable. By default, this machine is the only one]:NAME=ADDRESS:_default' \
'*--worker=[A worker; without an address it joins on its own; repeatable]:NAME[=ADDRESS]:_default' \
'--endpoint=[The load balancer or DNS name in front of the masters]:HOST[:PORT]:_default' \
'--virtual-address=[A free address of the masters'\'' network, which one master at a time holds for the API]:ADDRESS:_default' \
'--ssh-user=[User with whom the first master logs in to the other machines]:USER:_default' \
'--ssh-key=[Private key on the first master that logs in to the other machines]:FILE:_default' \
'*--set=[Set a key to a YAML value, such as network.podCIDR=10.1.0.0/16; repeatable]:KEY=VALUE:_default' \
'--full[Write every key; keys that are not set appear as comments]' \
'--yes[Do not ask; without a terminal, nothing is asked anyway]' \
'--force[Replace an existing file]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(validate)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- Files to check, as with --config:_files' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--origin=[Write the file and the line that set a value after it, as a comment]::BOOL:(true false)' \
'--machine=[Show what this machine applies\: the values of its role and of its entry are merged over those of all machines]:NAME:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(--machine -o --output)--raw[Print what masters receive, for their /etc/nodeinit/config.yaml\: with password hashes, without defaults and comments]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'--machine=[Compare what this machine applies of each configuration]:NAME:_default' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--clusters[Take A and B as the names of clusters in this folder, as \`--cluster\` of other commands does]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':a -- The first configuration\: a file; `-` is standard input:_files' \
':b -- The second configuration:_files' \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':tool -- The tool whose file is read:((kubeadm\:"The documents of \`kubeadm init --config\`"
k0sctl\:"The file of \`k0sctl apply --config\`"))' \
':file -- The file; `-` is standard input:_files' \
&& ret=0
;;
(schema)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__config__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-config-help-command-$line[1]:"
        case $line[1] in
            (admit)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(init)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(validate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(schema)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(artifacts)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__artifacts_commands" \
"*::: :->artifacts" \
&& ret=0

    case $state in
    (artifacts)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-artifacts-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--version=[Use this release of Kubernetes instead of kubernetes.version]:VERSION:_default' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(fetch)
_arguments "${_arguments_options[@]}" : \
'--to=[The directory; its file artifacts.lock records the digests, and later fetches accept only these digests]:DIR:_files' \
'--registry-auth=[Read the logins of registries from a file in the format of \`docker login\`, with mode 0600]:FILE:_files' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--version=[Use this release of Kubernetes instead of kubernetes.version]:VERSION:_default' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'--to=[The directory to write, which serves as artifacts.source\: new, empty, or from an earlier export]:DIR:_files' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(bundle)
_arguments "${_arguments_options[@]}" : \
'-o+[The file to write, whose name ends in .tar; it serves as artifacts.source]:FILE:_files' \
'--output=[The file to write, whose name ends in .tar; it serves as artifacts.source]:FILE:_files' \
'--from=[The directory that \`artifacts fetch\` filled; default\: artifacts.source]:DIR:_files' \
'(--signature)--sign-key=[Sign the index with this private key\: ed25519, in OpenSSH'\''s format, without a passphrase]:FILE:_files' \
'--signature=[Add this signature of the index, which \`ssh-keygen -Y sign -n nodeinit-bundle\` created]:FILE:_files' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--version=[Use this release of Kubernetes instead of kubernetes.version]:VERSION:_default' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The bundle:_files' \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
'--public-key=[The ed25519 public key that must have signed it, as in ~/.ssh/id_ed25519.pub]:FILE:_files' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The bundle:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__artifacts__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-artifacts-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(fetch)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bundle)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(secrets)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__secrets_commands" \
"*::: :->secrets" \
&& ret=0

    case $state in
    (secrets)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-secrets-command-$line[1]:"
        case $line[1] in
            (generate)
_arguments "${_arguments_options[@]}" : \
'--file=[The bundle]:FILE:_files' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
'--file=[The bundle]:FILE:_files' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__secrets__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-secrets-help-command-$line[1]:"
        case $line[1] in
            (generate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(token)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__token_commands" \
"*::: :->token" \
&& ret=0

    case $state in
    (token)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-token-command-$line[1]:"
        case $line[1] in
            (create)
_arguments "${_arguments_options[@]}" : \
'--ttl=[Lifetime, such as 30m, 24h or 7d; default 24h, for a worker 1h]:TTL:_default' \
'(--worker)--description=[The token'\''s purpose]:DESCRIPTION:_default' \
'--worker=[Create the token of one configured worker and revoke its earlier tokens; JSON output contains everything it needs to join]:NAME:_default' \
'--files=[Write that worker'\''s /etc/nodeinit/config.yaml and secrets.yaml into this directory]:DIRECTORY:_files' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--all[Also list used, expired and revoked tokens]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(delete)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--spent[Delete the tokens of all workers that have joined]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::id -- The token'\''s ID (the part before the dot), or the whole token:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__token__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-token-help-command-$line[1]:"
        case $line[1] in
            (create)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(delete)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(addons)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__addons_commands" \
"*::: :->addons" \
&& ret=0

    case $state in
    (addons)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-addons-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::name -- The addon'\''s name, as `addons list` shows it:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The addon'\''s name, as `addons list` shows it:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__addons__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-addons-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(certs)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__certs_commands" \
"*::: :->certs" \
&& ret=0

    case $state in
    (certs)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-certs-command-$line[1]:"
        case $line[1] in
            (check)
_arguments "${_arguments_options[@]}" : \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(renew)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::names -- Names of certificates, as `certs check` prints them; all by default:_default' \
&& ret=0
;;
(approve)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The node'\''s name, or the name of one CertificateSigningRequest:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__certs__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-certs-help-command-$line[1]:"
        case $line[1] in
            (check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(renew)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(approve)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(etcd)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__etcd_commands" \
"*::: :->etcd" \
&& ret=0

    case $state in
    (etcd)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-etcd-command-$line[1]:"
        case $line[1] in
            (members)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--force[Remove it even if it is healthy, or if etcd would lose its quorum]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':member -- The member'\''s name, or its ID as `nodeinit etcd members` prints it:_default' \
&& ret=0
;;
(snapshot)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The file to create; it must not exist. It contains all Secrets of the cluster, and only root may read it:_files' \
&& ret=0
;;
(defrag)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--compact[First compact\: discard all old revisions; API servers and controllers then list all objects again]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(alarms)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::action -- What to do:((list\:"Print the alarms"
disarm\:"Allow writes again after space was freed"))' \
&& ret=0
;;
(aside)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__etcd__subcmd__aside_commands" \
"*::: :->aside" \
&& ret=0

    case $state in
    (aside)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-etcd-aside-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--yes[Do not ask for confirmation]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The name, as `nodeinit etcd aside list` prints it:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-etcd-aside-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__etcd__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-etcd-help-command-$line[1]:"
        case $line[1] in
            (members)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(snapshot)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(defrag)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(alarms)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(aside)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__etcd__subcmd__help__subcmd__aside_commands" \
"*::: :->aside" \
&& ret=0

    case $state in
    (aside)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-etcd-help-aside-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(upgrade)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__upgrade_commands" \
"*::: :->upgrade" \
&& ret=0

    case $state in
    (upgrade)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-upgrade-command-$line[1]:"
        case $line[1] in
            (stage)
_arguments "${_arguments_options[@]}" : \
'--led=[The lease of the leading master, which runs this here]:LED:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':version -- The version:_default' \
':file -- The complete configuration:_files' \
&& ret=0
;;
(etcd)
_arguments "${_arguments_options[@]}" : \
'--led=[The lease of the leading master, which runs this here]:LED:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':version -- The version:_default' \
':file -- The complete configuration:_files' \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
'--parallel=[Change this many workers at a time, for example 3 or 10%; the default is \`rollout.parallel\`]:NUMBER|PERCENT:_default' \
'--led=[The lease of the leading master, which runs this here]:LED:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--local[Change only this machine, and do not drain its node; for workers that the masters do not reach]' \
'--no-drain[Cordon nodes, but do not evict their pods; containers continue to run]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':version -- The version, such as v1.37.1; the upgrade passes through each minor version on the way:_default' \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
'--parallel=[Change this many workers at a time, for example 3 or 10%; the default is \`rollout.parallel\`]:NUMBER|PERCENT:_default' \
'--led=[The lease of the leading master, which runs this here]:LED:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--local[Change only this machine, and do not drain its node; for workers that the masters do not reach]' \
'--no-drain[Cordon nodes, but do not evict their pods; containers continue to run]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':version -- The version, such as v1.37.1; the upgrade passes through each minor version on the way:_default' \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
'--parallel=[Change this many workers at a time, for example 3 or 10%; the default is \`rollout.parallel\`]:NUMBER|PERCENT:_default' \
'--led=[The lease of the leading master, which runs this here]:LED:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--plan[Show the changes of each machine in order, and change nothing; exit code 2 if there are changes]' \
'--local[Change only this machine, and do not drain its node; for workers that the masters do not reach]' \
'--no-drain[Cordon nodes, but do not evict their pods; containers continue to run]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::version -- The version to return to; by default, the version from before the unfinished upgrade. Required with --local on a machine whose own upgrade has ended:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__upgrade__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-upgrade-help-command-$line[1]:"
        case $line[1] in
            (stage)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(etcd)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(master)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__master_commands" \
"*::: :->master" \
&& ret=0

    case $state in
    (master)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-master-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'--address=[Its address, if the configuration has none]:ADDRESS:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--force[Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name:_default' \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--force[Delete pods without a controller; keep trying to evict pods that a PodDisruptionBudget protects until \`timeouts.node\`]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration, which has the address of the new machine:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__master__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-master-help-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(worker)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__worker_commands" \
"*::: :->worker" \
&& ret=0

    case $state in
    (worker)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-worker-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'--address=[Its address, if the configuration has none]:ADDRESS:_default' \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--force[Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name:_default' \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--force[Delete pods without a controller; keep trying to evict pods that a PodDisruptionBudget protects until \`timeouts.node\`]' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration, which has the address of the new machine:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__worker__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-worker-help-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(phase)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_nodeinit__subcmd__phase_commands" \
"*::: :->phase" \
&& ret=0

    case $state in
    (phase)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-phase-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
'*--config=[A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; \`-\` is standard input]:FILE:_files' \
'(--config)--cluster=[Read the files of a cluster in the current folder instead of those in /etc/nodeinit\: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist]:NAME:_default' \
'--role=[This machine'\''s role; by default taken from the configuration]:ROLE:(first-master master worker bastion)' \
'-o+[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'--output=[Output format]:OUTPUT:((text\:"Plain text"
json\:"One JSON object per line"))' \
'(-q --quiet)-v[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'(-q --quiet)--verbose[Also write debug detail to standard error and to systemd'\''s journal, as NODEINIT_LOG=debug does]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The step'\''s name, as `phase list` shows it:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__phase__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-phase-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-command-$line[1]:"
        case $line[1] in
            (up)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(preflight)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(timeline)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(reset)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(agent)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(version)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completion)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__config_commands" \
"*::: :->config" \
&& ret=0

    case $state in
    (config)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-config-command-$line[1]:"
        case $line[1] in
            (admit)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(init)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(validate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(schema)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(artifacts)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__artifacts_commands" \
"*::: :->artifacts" \
&& ret=0

    case $state in
    (artifacts)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-artifacts-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(fetch)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bundle)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(secrets)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__secrets_commands" \
"*::: :->secrets" \
&& ret=0

    case $state in
    (secrets)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-secrets-command-$line[1]:"
        case $line[1] in
            (generate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(token)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__token_commands" \
"*::: :->token" \
&& ret=0

    case $state in
    (token)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-token-command-$line[1]:"
        case $line[1] in
            (create)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(delete)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(addons)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__addons_commands" \
"*::: :->addons" \
&& ret=0

    case $state in
    (addons)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-addons-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(certs)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__certs_commands" \
"*::: :->certs" \
&& ret=0

    case $state in
    (certs)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-certs-command-$line[1]:"
        case $line[1] in
            (check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(renew)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(approve)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(etcd)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__etcd_commands" \
"*::: :->etcd" \
&& ret=0

    case $state in
    (etcd)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-etcd-command-$line[1]:"
        case $line[1] in
            (members)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(snapshot)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(defrag)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(alarms)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(aside)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__etcd__subcmd__aside_commands" \
"*::: :->aside" \
&& ret=0

    case $state in
    (aside)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-etcd-aside-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(upgrade)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__upgrade_commands" \
"*::: :->upgrade" \
&& ret=0

    case $state in
    (upgrade)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-upgrade-command-$line[1]:"
        case $line[1] in
            (stage)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(etcd)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(master)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__master_commands" \
"*::: :->master" \
&& ret=0

    case $state in
    (master)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-master-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(worker)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__worker_commands" \
"*::: :->worker" \
&& ret=0

    case $state in
    (worker)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-worker-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(phase)
_arguments "${_arguments_options[@]}" : \
":: :_nodeinit__subcmd__help__subcmd__phase_commands" \
"*::: :->phase" \
&& ret=0

    case $state in
    (phase)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:nodeinit-help-phase-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_nodeinit_commands] )) ||
_nodeinit_commands() {
    local commands; commands=(
'up:Bring this machine to the configured state; an interrupted run resumes' \
'plan:Show what \`up\` would do, without changing anything; exit code 2 if there are changes' \
'preflight:Report every problem of this machine with its fix; changes nothing' \
'status:Show steps, component health, nodes and certificate expiry' \
'timeline:Draw a timeline of a past run\: when each step started and ended, on all machines of the run' \
'reset:Undo everything that nodeinit did on this machine' \
'agent:Approve kubelets'\'' certificate requests until stopped; the service nodeinit-agent on masters runs it' \
'version:Print the version of nodeinit and the supported versions of Kubernetes' \
'completion:Print a completion script for a shell' \
'config:Write, check and show the configuration' \
'artifacts:List, fetch, export and bundle the programs and images that a cluster needs' \
'secrets:Generate and inspect the cluster'\''s secrets bundle' \
'token:Manage bootstrap tokens' \
'addons:Manage optional addons' \
'certs:Check and renew certificates' \
'etcd:Inspect and maintain etcd' \
'upgrade:Upgrade the cluster to another version of Kubernetes' \
'master:Add, remove or replace masters' \
'worker:Add, remove or replace workers' \
'phase:Run a single step (debugging)' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons_commands] )) ||
_nodeinit__subcmd__addons_commands() {
    local commands; commands=(
'list:List addons, whether the configuration enables them, and their status' \
'apply:Apply an addon and wait until it is ready; without a name, all enabled addons' \
'remove:Delete only the objects that nodeinit applied for an addon' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit addons commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__apply_commands] )) ||
_nodeinit__subcmd__addons__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit addons apply commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__help_commands] )) ||
_nodeinit__subcmd__addons__subcmd__help_commands() {
    local commands; commands=(
'list:List addons, whether the configuration enables them, and their status' \
'apply:Apply an addon and wait until it is ready; without a name, all enabled addons' \
'remove:Delete only the objects that nodeinit applied for an addon' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit addons help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__help__subcmd__apply_commands] )) ||
_nodeinit__subcmd__addons__subcmd__help__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit addons help apply commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__addons__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit addons help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__help__subcmd__list_commands] )) ||
_nodeinit__subcmd__addons__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit addons help list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__help__subcmd__remove_commands] )) ||
_nodeinit__subcmd__addons__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit addons help remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__list_commands] )) ||
_nodeinit__subcmd__addons__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit addons list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__addons__subcmd__remove_commands] )) ||
_nodeinit__subcmd__addons__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit addons remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__agent_commands] )) ||
_nodeinit__subcmd__agent_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit agent commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts_commands] )) ||
_nodeinit__subcmd__artifacts_commands() {
    local commands; commands=(
'list:List each program and image that a cluster with this configuration needs, and its source' \
'fetch:Fetch the programs and images that a cluster needs into a directory that serves as artifacts.source; an interrupted fetch resumes' \
'export:Export the artifacts of this master to a directory that serves as artifacts.source' \
'bundle:Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature' \
'inspect:Show what a bundle contains; reads only its index' \
'verify:Verify that a bundle is complete and undamaged, and who signed it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit artifacts commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__bundle_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__bundle_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts bundle commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__export_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts export commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__fetch_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__fetch_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts fetch commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help_commands() {
    local commands; commands=(
'list:List each program and image that a cluster with this configuration needs, and its source' \
'fetch:Fetch the programs and images that a cluster needs into a directory that serves as artifacts.source; an interrupted fetch resumes' \
'export:Export the artifacts of this master to a directory that serves as artifacts.source' \
'bundle:Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature' \
'inspect:Show what a bundle contains; reads only its index' \
'verify:Verify that a bundle is complete and undamaged, and who signed it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit artifacts help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help__subcmd__bundle_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help__subcmd__bundle_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts help bundle commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help__subcmd__export_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts help export commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help__subcmd__fetch_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help__subcmd__fetch_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts help fetch commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help__subcmd__inspect_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts help inspect commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help__subcmd__list_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts help list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__help__subcmd__verify_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__help__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts help verify commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__inspect_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts inspect commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__list_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__artifacts__subcmd__verify_commands] )) ||
_nodeinit__subcmd__artifacts__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit artifacts verify commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs_commands] )) ||
_nodeinit__subcmd__certs_commands() {
    local commands; commands=(
'check:List this machine'\''s certificates with their expiry; exit code 1 if one has expired' \
'renew:Renew certificates for their existing keys, with the CAs on this machine' \
'approve:Approve a node'\''s pending requests for serving certificates that contain names unknown to the agent; run this on a master' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit certs commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__approve_commands] )) ||
_nodeinit__subcmd__certs__subcmd__approve_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit certs approve commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__check_commands] )) ||
_nodeinit__subcmd__certs__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit certs check commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__help_commands] )) ||
_nodeinit__subcmd__certs__subcmd__help_commands() {
    local commands; commands=(
'check:List this machine'\''s certificates with their expiry; exit code 1 if one has expired' \
'renew:Renew certificates for their existing keys, with the CAs on this machine' \
'approve:Approve a node'\''s pending requests for serving certificates that contain names unknown to the agent; run this on a master' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit certs help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__help__subcmd__approve_commands] )) ||
_nodeinit__subcmd__certs__subcmd__help__subcmd__approve_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit certs help approve commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__help__subcmd__check_commands] )) ||
_nodeinit__subcmd__certs__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit certs help check commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__certs__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit certs help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__help__subcmd__renew_commands] )) ||
_nodeinit__subcmd__certs__subcmd__help__subcmd__renew_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit certs help renew commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__certs__subcmd__renew_commands] )) ||
_nodeinit__subcmd__certs__subcmd__renew_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit certs renew commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__completion_commands] )) ||
_nodeinit__subcmd__completion_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit completion commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config_commands] )) ||
_nodeinit__subcmd__config_commands() {
    local commands; commands=(
'admit:Print the digest of what all masters share of the configuration, if this machine admits the leading master, which runs this' \
'init:Write a configuration file with the settings that matter; on a terminal, ask for them' \
'validate:Check the configuration and report every problem' \
'show:Show the merged configuration and the file that set each value' \
'diff:Show what differs between two configurations, and where each value is set; exit code 2 if there are differences' \
'import:Print a configuration translated from a file of kubeadm or k0sctl; list on standard error what has no counterpart' \
'schema:Print the JSON Schema (draft 2020-12) of the configuration' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit config commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__admit_commands] )) ||
_nodeinit__subcmd__config__subcmd__admit_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config admit commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__diff_commands] )) ||
_nodeinit__subcmd__config__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config diff commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help_commands] )) ||
_nodeinit__subcmd__config__subcmd__help_commands() {
    local commands; commands=(
'admit:Print the digest of what all masters share of the configuration, if this machine admits the leading master, which runs this' \
'init:Write a configuration file with the settings that matter; on a terminal, ask for them' \
'validate:Check the configuration and report every problem' \
'show:Show the merged configuration and the file that set each value' \
'diff:Show what differs between two configurations, and where each value is set; exit code 2 if there are differences' \
'import:Print a configuration translated from a file of kubeadm or k0sctl; list on standard error what has no counterpart' \
'schema:Print the JSON Schema (draft 2020-12) of the configuration' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit config help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__admit_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__admit_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help admit commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__diff_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help diff commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__import_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help import commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__init_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help init commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__schema_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__schema_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help schema commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__show_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help show commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__help__subcmd__validate_commands] )) ||
_nodeinit__subcmd__config__subcmd__help__subcmd__validate_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config help validate commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__import_commands] )) ||
_nodeinit__subcmd__config__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config import commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__init_commands] )) ||
_nodeinit__subcmd__config__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config init commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__schema_commands] )) ||
_nodeinit__subcmd__config__subcmd__schema_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config schema commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__show_commands] )) ||
_nodeinit__subcmd__config__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config show commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__config__subcmd__validate_commands] )) ||
_nodeinit__subcmd__config__subcmd__validate_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit config validate commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd_commands] )) ||
_nodeinit__subcmd__etcd_commands() {
    local commands; commands=(
'members:List members\: voters, leader, health' \
'remove:Remove a member whose machine is gone, or a member that was added but never started' \
'snapshot:Write a snapshot of etcd'\''s data to a file on this machine' \
'defrag:Shrink the members'\'' databases, one member at a time, the leader last' \
'alarms:List etcd'\''s alarms, or disarm those of full databases' \
'aside:Manage etcd data on this machine that nodeinit moved aside' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit etcd commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__alarms_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__alarms_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd alarms commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__aside_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__aside_commands() {
    local commands; commands=(
'list:List the data that was moved aside, with its size and the member that wrote it' \
'remove:Delete data that was moved aside; it cannot be restored' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit etcd aside commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help_commands() {
    local commands; commands=(
'list:List the data that was moved aside, with its size and the member that wrote it' \
'remove:Delete data that was moved aside; it cannot be restored' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit etcd aside help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd aside help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help__subcmd__list_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd aside help list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help__subcmd__remove_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__aside__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd aside help remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__aside__subcmd__list_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__aside__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd aside list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__aside__subcmd__remove_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__aside__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd aside remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__defrag_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__defrag_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd defrag commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help_commands() {
    local commands; commands=(
'members:List members\: voters, leader, health' \
'remove:Remove a member whose machine is gone, or a member that was added but never started' \
'snapshot:Write a snapshot of etcd'\''s data to a file on this machine' \
'defrag:Shrink the members'\'' databases, one member at a time, the leader last' \
'alarms:List etcd'\''s alarms, or disarm those of full databases' \
'aside:Manage etcd data on this machine that nodeinit moved aside' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit etcd help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__alarms_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__alarms_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help alarms commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__aside_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__aside_commands() {
    local commands; commands=(
'list:List the data that was moved aside, with its size and the member that wrote it' \
'remove:Delete data that was moved aside; it cannot be restored' \
    )
    _describe -t commands 'nodeinit etcd help aside commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__aside__subcmd__list_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__aside__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help aside list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__aside__subcmd__remove_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__aside__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help aside remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__defrag_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__defrag_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help defrag commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__members_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__members_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help members commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__remove_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__help__subcmd__snapshot_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__help__subcmd__snapshot_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd help snapshot commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__members_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__members_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd members commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__remove_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__etcd__subcmd__snapshot_commands] )) ||
_nodeinit__subcmd__etcd__subcmd__snapshot_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit etcd snapshot commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help_commands] )) ||
_nodeinit__subcmd__help_commands() {
    local commands; commands=(
'up:Bring this machine to the configured state; an interrupted run resumes' \
'plan:Show what \`up\` would do, without changing anything; exit code 2 if there are changes' \
'preflight:Report every problem of this machine with its fix; changes nothing' \
'status:Show steps, component health, nodes and certificate expiry' \
'timeline:Draw a timeline of a past run\: when each step started and ended, on all machines of the run' \
'reset:Undo everything that nodeinit did on this machine' \
'agent:Approve kubelets'\'' certificate requests until stopped; the service nodeinit-agent on masters runs it' \
'version:Print the version of nodeinit and the supported versions of Kubernetes' \
'completion:Print a completion script for a shell' \
'config:Write, check and show the configuration' \
'artifacts:List, fetch, export and bundle the programs and images that a cluster needs' \
'secrets:Generate and inspect the cluster'\''s secrets bundle' \
'token:Manage bootstrap tokens' \
'addons:Manage optional addons' \
'certs:Check and renew certificates' \
'etcd:Inspect and maintain etcd' \
'upgrade:Upgrade the cluster to another version of Kubernetes' \
'master:Add, remove or replace masters' \
'worker:Add, remove or replace workers' \
'phase:Run a single step (debugging)' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__addons_commands] )) ||
_nodeinit__subcmd__help__subcmd__addons_commands() {
    local commands; commands=(
'list:List addons, whether the configuration enables them, and their status' \
'apply:Apply an addon and wait until it is ready; without a name, all enabled addons' \
'remove:Delete only the objects that nodeinit applied for an addon' \
    )
    _describe -t commands 'nodeinit help addons commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__addons__subcmd__apply_commands] )) ||
_nodeinit__subcmd__help__subcmd__addons__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help addons apply commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__addons__subcmd__list_commands] )) ||
_nodeinit__subcmd__help__subcmd__addons__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help addons list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__addons__subcmd__remove_commands] )) ||
_nodeinit__subcmd__help__subcmd__addons__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help addons remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__agent_commands] )) ||
_nodeinit__subcmd__help__subcmd__agent_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help agent commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__artifacts_commands] )) ||
_nodeinit__subcmd__help__subcmd__artifacts_commands() {
    local commands; commands=(
'list:List each program and image that a cluster with this configuration needs, and its source' \
'fetch:Fetch the programs and images that a cluster needs into a directory that serves as artifacts.source; an interrupted fetch resumes' \
'export:Export the artifacts of this master to a directory that serves as artifacts.source' \
'bundle:Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature' \
'inspect:Show what a bundle contains; reads only its index' \
'verify:Verify that a bundle is complete and undamaged, and who signed it' \
    )
    _describe -t commands 'nodeinit help artifacts commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__artifacts__subcmd__bundle_commands] )) ||
_nodeinit__subcmd__help__subcmd__artifacts__subcmd__bundle_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help artifacts bundle commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__artifacts__subcmd__export_commands] )) ||
_nodeinit__subcmd__help__subcmd__artifacts__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help artifacts export commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__artifacts__subcmd__fetch_commands] )) ||
_nodeinit__subcmd__help__subcmd__artifacts__subcmd__fetch_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help artifacts fetch commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__artifacts__subcmd__inspect_commands] )) ||
_nodeinit__subcmd__help__subcmd__artifacts__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help artifacts inspect commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__artifacts__subcmd__list_commands] )) ||
_nodeinit__subcmd__help__subcmd__artifacts__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help artifacts list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__artifacts__subcmd__verify_commands] )) ||
_nodeinit__subcmd__help__subcmd__artifacts__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help artifacts verify commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__certs_commands] )) ||
_nodeinit__subcmd__help__subcmd__certs_commands() {
    local commands; commands=(
'check:List this machine'\''s certificates with their expiry; exit code 1 if one has expired' \
'renew:Renew certificates for their existing keys, with the CAs on this machine' \
'approve:Approve a node'\''s pending requests for serving certificates that contain names unknown to the agent; run this on a master' \
    )
    _describe -t commands 'nodeinit help certs commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__certs__subcmd__approve_commands] )) ||
_nodeinit__subcmd__help__subcmd__certs__subcmd__approve_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help certs approve commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__certs__subcmd__check_commands] )) ||
_nodeinit__subcmd__help__subcmd__certs__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help certs check commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__certs__subcmd__renew_commands] )) ||
_nodeinit__subcmd__help__subcmd__certs__subcmd__renew_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help certs renew commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__completion_commands] )) ||
_nodeinit__subcmd__help__subcmd__completion_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help completion commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config_commands] )) ||
_nodeinit__subcmd__help__subcmd__config_commands() {
    local commands; commands=(
'admit:Print the digest of what all masters share of the configuration, if this machine admits the leading master, which runs this' \
'init:Write a configuration file with the settings that matter; on a terminal, ask for them' \
'validate:Check the configuration and report every problem' \
'show:Show the merged configuration and the file that set each value' \
'diff:Show what differs between two configurations, and where each value is set; exit code 2 if there are differences' \
'import:Print a configuration translated from a file of kubeadm or k0sctl; list on standard error what has no counterpart' \
'schema:Print the JSON Schema (draft 2020-12) of the configuration' \
    )
    _describe -t commands 'nodeinit help config commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config__subcmd__admit_commands] )) ||
_nodeinit__subcmd__help__subcmd__config__subcmd__admit_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help config admit commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config__subcmd__diff_commands] )) ||
_nodeinit__subcmd__help__subcmd__config__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help config diff commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config__subcmd__import_commands] )) ||
_nodeinit__subcmd__help__subcmd__config__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help config import commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config__subcmd__init_commands] )) ||
_nodeinit__subcmd__help__subcmd__config__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help config init commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config__subcmd__schema_commands] )) ||
_nodeinit__subcmd__help__subcmd__config__subcmd__schema_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help config schema commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config__subcmd__show_commands] )) ||
_nodeinit__subcmd__help__subcmd__config__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help config show commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__config__subcmd__validate_commands] )) ||
_nodeinit__subcmd__help__subcmd__config__subcmd__validate_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help config validate commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd_commands() {
    local commands; commands=(
'members:List members\: voters, leader, health' \
'remove:Remove a member whose machine is gone, or a member that was added but never started' \
'snapshot:Write a snapshot of etcd'\''s data to a file on this machine' \
'defrag:Shrink the members'\'' databases, one member at a time, the leader last' \
'alarms:List etcd'\''s alarms, or disarm those of full databases' \
'aside:Manage etcd data on this machine that nodeinit moved aside' \
    )
    _describe -t commands 'nodeinit help etcd commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__alarms_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__alarms_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help etcd alarms commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__aside_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__aside_commands() {
    local commands; commands=(
'list:List the data that was moved aside, with its size and the member that wrote it' \
'remove:Delete data that was moved aside; it cannot be restored' \
    )
    _describe -t commands 'nodeinit help etcd aside commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__aside__subcmd__list_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__aside__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help etcd aside list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__aside__subcmd__remove_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__aside__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help etcd aside remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__defrag_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__defrag_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help etcd defrag commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__members_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__members_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help etcd members commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__remove_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help etcd remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__etcd__subcmd__snapshot_commands] )) ||
_nodeinit__subcmd__help__subcmd__etcd__subcmd__snapshot_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help etcd snapshot commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__master_commands] )) ||
_nodeinit__subcmd__help__subcmd__master_commands() {
    local commands; commands=(
'add:Add one configured machine to the cluster; run this on any master' \
'remove:Drain a machine, remove its etcd member, node and tokens; run this on another master' \
'replace:Replace a machine by a new or wiped one\: remove the former from the cluster, then add the new one; run this on another master' \
    )
    _describe -t commands 'nodeinit help master commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__master__subcmd__add_commands] )) ||
_nodeinit__subcmd__help__subcmd__master__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help master add commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__master__subcmd__remove_commands] )) ||
_nodeinit__subcmd__help__subcmd__master__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help master remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__master__subcmd__replace_commands] )) ||
_nodeinit__subcmd__help__subcmd__master__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help master replace commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__phase_commands] )) ||
_nodeinit__subcmd__help__subcmd__phase_commands() {
    local commands; commands=(
'list:List the steps of this machine'\''s role in order; JSON output includes their dependencies' \
'run:Run one step; its dependencies must be done' \
    )
    _describe -t commands 'nodeinit help phase commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__phase__subcmd__list_commands] )) ||
_nodeinit__subcmd__help__subcmd__phase__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help phase list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__phase__subcmd__run_commands] )) ||
_nodeinit__subcmd__help__subcmd__phase__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help phase run commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__plan_commands] )) ||
_nodeinit__subcmd__help__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help plan commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__preflight_commands] )) ||
_nodeinit__subcmd__help__subcmd__preflight_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help preflight commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__reset_commands] )) ||
_nodeinit__subcmd__help__subcmd__reset_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help reset commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__secrets_commands] )) ||
_nodeinit__subcmd__help__subcmd__secrets_commands() {
    local commands; commands=(
'generate:Generate a cluster'\''s secrets\: CAs and keys; never overwrites a file' \
'inspect:Show fingerprints, subjects and expiry of a bundle'\''s content, never a secret' \
    )
    _describe -t commands 'nodeinit help secrets commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__secrets__subcmd__generate_commands] )) ||
_nodeinit__subcmd__help__subcmd__secrets__subcmd__generate_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help secrets generate commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__secrets__subcmd__inspect_commands] )) ||
_nodeinit__subcmd__help__subcmd__secrets__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help secrets inspect commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__status_commands] )) ||
_nodeinit__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help status commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__timeline_commands] )) ||
_nodeinit__subcmd__help__subcmd__timeline_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help timeline commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__token_commands] )) ||
_nodeinit__subcmd__help__subcmd__token_commands() {
    local commands; commands=(
'create:Create a token and print it' \
'list:List tokens with their expiry, never their secrets' \
'delete:Revoke a token; it never becomes valid again' \
    )
    _describe -t commands 'nodeinit help token commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__token__subcmd__create_commands] )) ||
_nodeinit__subcmd__help__subcmd__token__subcmd__create_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help token create commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__token__subcmd__delete_commands] )) ||
_nodeinit__subcmd__help__subcmd__token__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help token delete commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__token__subcmd__list_commands] )) ||
_nodeinit__subcmd__help__subcmd__token__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help token list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__up_commands] )) ||
_nodeinit__subcmd__help__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help up commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__upgrade_commands] )) ||
_nodeinit__subcmd__help__subcmd__upgrade_commands() {
    local commands; commands=(
'stage:Copy the images of an upgrade to this machine; the leading master runs this' \
'etcd:Bring this master'\''s etcd to the version that an upgrade needs; the leading master runs this' \
'plan:Show the changes of each machine in order, and what prevents the upgrade in the cluster and on this machine; exit code 2 if there are changes' \
'apply:Upgrade all machines to a version of Kubernetes, the masters one at a time; an interrupted upgrade resumes' \
'rollback:Return all machines of an unfinished upgrade to the version before it, workers first, by one minor version at most; an interrupted rollback resumes' \
    )
    _describe -t commands 'nodeinit help upgrade commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__upgrade__subcmd__apply_commands] )) ||
_nodeinit__subcmd__help__subcmd__upgrade__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help upgrade apply commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__upgrade__subcmd__etcd_commands] )) ||
_nodeinit__subcmd__help__subcmd__upgrade__subcmd__etcd_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help upgrade etcd commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__upgrade__subcmd__plan_commands] )) ||
_nodeinit__subcmd__help__subcmd__upgrade__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help upgrade plan commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__upgrade__subcmd__rollback_commands] )) ||
_nodeinit__subcmd__help__subcmd__upgrade__subcmd__rollback_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help upgrade rollback commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__upgrade__subcmd__stage_commands] )) ||
_nodeinit__subcmd__help__subcmd__upgrade__subcmd__stage_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help upgrade stage commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__version_commands] )) ||
_nodeinit__subcmd__help__subcmd__version_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help version commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__worker_commands] )) ||
_nodeinit__subcmd__help__subcmd__worker_commands() {
    local commands; commands=(
'add:Add one configured machine to the cluster; run this on any master' \
'remove:Drain a machine, remove its etcd member, node and tokens; run this on another master' \
'replace:Replace a machine by a new or wiped one\: remove the former from the cluster, then add the new one; run this on another master' \
    )
    _describe -t commands 'nodeinit help worker commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__worker__subcmd__add_commands] )) ||
_nodeinit__subcmd__help__subcmd__worker__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help worker add commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__worker__subcmd__remove_commands] )) ||
_nodeinit__subcmd__help__subcmd__worker__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help worker remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__help__subcmd__worker__subcmd__replace_commands] )) ||
_nodeinit__subcmd__help__subcmd__worker__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit help worker replace commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master_commands] )) ||
_nodeinit__subcmd__master_commands() {
    local commands; commands=(
'add:Add one configured machine to the cluster; run this on any master' \
'remove:Drain a machine, remove its etcd member, node and tokens; run this on another master' \
'replace:Replace a machine by a new or wiped one\: remove the former from the cluster, then add the new one; run this on another master' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit master commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__add_commands] )) ||
_nodeinit__subcmd__master__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit master add commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__help_commands] )) ||
_nodeinit__subcmd__master__subcmd__help_commands() {
    local commands; commands=(
'add:Add one configured machine to the cluster; run this on any master' \
'remove:Drain a machine, remove its etcd member, node and tokens; run this on another master' \
'replace:Replace a machine by a new or wiped one\: remove the former from the cluster, then add the new one; run this on another master' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit master help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__help__subcmd__add_commands] )) ||
_nodeinit__subcmd__master__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit master help add commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__master__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit master help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__help__subcmd__remove_commands] )) ||
_nodeinit__subcmd__master__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit master help remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__help__subcmd__replace_commands] )) ||
_nodeinit__subcmd__master__subcmd__help__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit master help replace commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__remove_commands] )) ||
_nodeinit__subcmd__master__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit master remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__master__subcmd__replace_commands] )) ||
_nodeinit__subcmd__master__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit master replace commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__phase_commands] )) ||
_nodeinit__subcmd__phase_commands() {
    local commands; commands=(
'list:List the steps of this machine'\''s role in order; JSON output includes their dependencies' \
'run:Run one step; its dependencies must be done' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit phase commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__phase__subcmd__help_commands] )) ||
_nodeinit__subcmd__phase__subcmd__help_commands() {
    local commands; commands=(
'list:List the steps of this machine'\''s role in order; JSON output includes their dependencies' \
'run:Run one step; its dependencies must be done' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit phase help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__phase__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__phase__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit phase help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__phase__subcmd__help__subcmd__list_commands] )) ||
_nodeinit__subcmd__phase__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit phase help list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__phase__subcmd__help__subcmd__run_commands] )) ||
_nodeinit__subcmd__phase__subcmd__help__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit phase help run commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__phase__subcmd__list_commands] )) ||
_nodeinit__subcmd__phase__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit phase list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__phase__subcmd__run_commands] )) ||
_nodeinit__subcmd__phase__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit phase run commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__plan_commands] )) ||
_nodeinit__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit plan commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__preflight_commands] )) ||
_nodeinit__subcmd__preflight_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit preflight commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__reset_commands] )) ||
_nodeinit__subcmd__reset_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit reset commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__secrets_commands] )) ||
_nodeinit__subcmd__secrets_commands() {
    local commands; commands=(
'generate:Generate a cluster'\''s secrets\: CAs and keys; never overwrites a file' \
'inspect:Show fingerprints, subjects and expiry of a bundle'\''s content, never a secret' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit secrets commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__secrets__subcmd__generate_commands] )) ||
_nodeinit__subcmd__secrets__subcmd__generate_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit secrets generate commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__secrets__subcmd__help_commands] )) ||
_nodeinit__subcmd__secrets__subcmd__help_commands() {
    local commands; commands=(
'generate:Generate a cluster'\''s secrets\: CAs and keys; never overwrites a file' \
'inspect:Show fingerprints, subjects and expiry of a bundle'\''s content, never a secret' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit secrets help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__secrets__subcmd__help__subcmd__generate_commands] )) ||
_nodeinit__subcmd__secrets__subcmd__help__subcmd__generate_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit secrets help generate commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__secrets__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__secrets__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit secrets help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__secrets__subcmd__help__subcmd__inspect_commands] )) ||
_nodeinit__subcmd__secrets__subcmd__help__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit secrets help inspect commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__secrets__subcmd__inspect_commands] )) ||
_nodeinit__subcmd__secrets__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit secrets inspect commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__status_commands] )) ||
_nodeinit__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit status commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__timeline_commands] )) ||
_nodeinit__subcmd__timeline_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit timeline commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token_commands] )) ||
_nodeinit__subcmd__token_commands() {
    local commands; commands=(
'create:Create a token and print it' \
'list:List tokens with their expiry, never their secrets' \
'delete:Revoke a token; it never becomes valid again' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit token commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__create_commands] )) ||
_nodeinit__subcmd__token__subcmd__create_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit token create commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__delete_commands] )) ||
_nodeinit__subcmd__token__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit token delete commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__help_commands] )) ||
_nodeinit__subcmd__token__subcmd__help_commands() {
    local commands; commands=(
'create:Create a token and print it' \
'list:List tokens with their expiry, never their secrets' \
'delete:Revoke a token; it never becomes valid again' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit token help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__help__subcmd__create_commands] )) ||
_nodeinit__subcmd__token__subcmd__help__subcmd__create_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit token help create commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__help__subcmd__delete_commands] )) ||
_nodeinit__subcmd__token__subcmd__help__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit token help delete commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__token__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit token help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__help__subcmd__list_commands] )) ||
_nodeinit__subcmd__token__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit token help list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__token__subcmd__list_commands] )) ||
_nodeinit__subcmd__token__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit token list commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__up_commands] )) ||
_nodeinit__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit up commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade_commands] )) ||
_nodeinit__subcmd__upgrade_commands() {
    local commands; commands=(
'stage:Copy the images of an upgrade to this machine; the leading master runs this' \
'etcd:Bring this master'\''s etcd to the version that an upgrade needs; the leading master runs this' \
'plan:Show the changes of each machine in order, and what prevents the upgrade in the cluster and on this machine; exit code 2 if there are changes' \
'apply:Upgrade all machines to a version of Kubernetes, the masters one at a time; an interrupted upgrade resumes' \
'rollback:Return all machines of an unfinished upgrade to the version before it, workers first, by one minor version at most; an interrupted rollback resumes' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit upgrade commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__apply_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade apply commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__etcd_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__etcd_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade etcd commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__help_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__help_commands() {
    local commands; commands=(
'stage:Copy the images of an upgrade to this machine; the leading master runs this' \
'etcd:Bring this master'\''s etcd to the version that an upgrade needs; the leading master runs this' \
'plan:Show the changes of each machine in order, and what prevents the upgrade in the cluster and on this machine; exit code 2 if there are changes' \
'apply:Upgrade all machines to a version of Kubernetes, the masters one at a time; an interrupted upgrade resumes' \
'rollback:Return all machines of an unfinished upgrade to the version before it, workers first, by one minor version at most; an interrupted rollback resumes' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit upgrade help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__help__subcmd__apply_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__help__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade help apply commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__help__subcmd__etcd_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__help__subcmd__etcd_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade help etcd commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__help__subcmd__plan_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__help__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade help plan commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__help__subcmd__rollback_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__help__subcmd__rollback_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade help rollback commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__help__subcmd__stage_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__help__subcmd__stage_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade help stage commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__plan_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade plan commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__rollback_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__rollback_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade rollback commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__upgrade__subcmd__stage_commands] )) ||
_nodeinit__subcmd__upgrade__subcmd__stage_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit upgrade stage commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__version_commands] )) ||
_nodeinit__subcmd__version_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit version commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker_commands] )) ||
_nodeinit__subcmd__worker_commands() {
    local commands; commands=(
'add:Add one configured machine to the cluster; run this on any master' \
'remove:Drain a machine, remove its etcd member, node and tokens; run this on another master' \
'replace:Replace a machine by a new or wiped one\: remove the former from the cluster, then add the new one; run this on another master' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit worker commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__add_commands] )) ||
_nodeinit__subcmd__worker__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit worker add commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__help_commands] )) ||
_nodeinit__subcmd__worker__subcmd__help_commands() {
    local commands; commands=(
'add:Add one configured machine to the cluster; run this on any master' \
'remove:Drain a machine, remove its etcd member, node and tokens; run this on another master' \
'replace:Replace a machine by a new or wiped one\: remove the former from the cluster, then add the new one; run this on another master' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'nodeinit worker help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__help__subcmd__add_commands] )) ||
_nodeinit__subcmd__worker__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit worker help add commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__help__subcmd__help_commands] )) ||
_nodeinit__subcmd__worker__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit worker help help commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__help__subcmd__remove_commands] )) ||
_nodeinit__subcmd__worker__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit worker help remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__help__subcmd__replace_commands] )) ||
_nodeinit__subcmd__worker__subcmd__help__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit worker help replace commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__remove_commands] )) ||
_nodeinit__subcmd__worker__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit worker remove commands' commands "$@"
}
(( $+functions[_nodeinit__subcmd__worker__subcmd__replace_commands] )) ||
_nodeinit__subcmd__worker__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'nodeinit worker replace commands' commands "$@"
}

if [ "$funcstack[1]" = "_nodeinit" ]; then
    _nodeinit "$@"
else
    compdef _nodeinit nodeinit
fi
