# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_nodeinit_global_optspecs
    string join \n v/verbose q/quiet h/help V/version
end

function __fish_nodeinit_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_nodeinit_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_nodeinit_using_subcommand
    set -l cmd (__fish_nodeinit_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c nodeinit -n "__fish_nodeinit_needs_command" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -s V -l version -d 'Print version'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "up" -d 'Bring this machine to the configured state; an interrupted run resumes'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "plan" -d 'Show what `up` would do, without changing anything; exit code 2 if there are changes'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "preflight" -d 'Report every problem of this machine with its fix; changes nothing'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "status" -d 'Show steps, component health, nodes and certificate expiry'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "timeline" -d 'Draw a timeline of a past run: when each step started and ended, on all machines of the run'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "reset" -d 'Undo everything that nodeinit did on this machine'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "agent" -d 'Approve kubelets\' certificate requests until stopped; the service nodeinit-agent on masters runs it'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "version" -d 'Print the version of nodeinit and the supported versions of Kubernetes'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "completion" -d 'Print a completion script for a shell'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "config" -d 'Write, check and show the configuration'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "artifacts" -d 'List, fetch, export and bundle the programs and images that a cluster needs'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "secrets" -d 'Generate and inspect the cluster\'s secrets bundle'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "token" -d 'Manage bootstrap tokens'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "addons" -d 'Manage optional addons'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "certs" -d 'Check and renew certificates'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "etcd" -d 'Inspect and maintain etcd'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "upgrade" -d 'Upgrade the cluster to another version of Kubernetes'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "master" -d 'Add, remove or replace masters'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "worker" -d 'Add, remove or replace workers'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "phase" -d 'Run a single step (debugging)'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l parallel -d 'Restart the kubelets of this many workers at a time, for example 3 or 10%; the default is `rollout.parallel`' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l led -d 'The lease of the leading master, which runs this here' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l new-cluster -d 'Bootstrap an empty etcd even without proof that the cluster is new; an existing cluster\'s data is lost'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l yes -d 'Do not ask for confirmation to discard the former cluster'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l permit-stdin -d 'Read a permit from standard input (one line of JSON): with it, the provisioner allows this machine to bootstrap etcd'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l local -d 'Change only this machine; on the first master, leave the other machines alone'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l lead -d 'Bring up the other machines, too, from any master; the first master does so without this option'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l insist -d 'Use this master\'s configuration although another master has a newer one'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l no-drain -d 'Cordon workers whose kubelet restarts with changed settings, but do not evict their pods'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l at-boot -d 'Keep this master\'s static pods if they are healthy, and restart nothing on other machines, even if settings changed; nodeinit.service uses this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l accept-clock -d 'Accept this machine\'s clock although an earlier run recorded a later time'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l parallel -d 'Restart the kubelets of this many workers at a time, for example 3 or 10%; the default is `rollout.parallel`' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l led -d 'The lease of the leading master, which runs this here' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l local -d 'Change only this machine; on the first master, leave the other machines alone'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l lead -d 'Bring up the other machines, too, from any master; the first master does so without this option'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l insist -d 'Use this master\'s configuration although another master has a newer one'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l no-drain -d 'Cordon workers whose kubelet restarts with changed settings, but do not evict their pods'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l at-boot -d 'Keep this master\'s static pods if they are healthy, and restart nothing on other machines, even if settings changed; nodeinit.service uses this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l accept-clock -d 'Accept this machine\'s clock although an earlier run recorded a later time'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -s w -l watch -d 'Show the status again every 2 s until stopped'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand timeline" -s o -l output -d 'Format of the timeline' -r -f -a "text\t'Plain text for a terminal'
svg\t'An SVG picture'
html\t'An HTML page with the picture and a table'
json\t'One JSON object with the run and its steps'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand timeline" -l run -d 'Which run: 1 is the latest that changed something, 2 the one before it' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand timeline" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand timeline" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand timeline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l yes -d 'Do not ask for confirmation'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l force -d 'Proceed even if the other masters\' etcd loses quorum or does not answer'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l remove-aside -d 'Also delete etcd data that was moved aside (`nodeinit etcd aside list`)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -l config -d 'The configuration file that `up` writes for the service' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -l role -d 'This machine\'s role, if the configuration does not list the machine' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand version" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand version" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand version" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand version" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand completion" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand completion" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand completion" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "admit" -d 'Print the digest of what all masters share of the configuration, if this machine admits the leading master, which runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "init" -d 'Write a configuration file with the settings that matter; on a terminal, ask for them'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "validate" -d 'Check the configuration and report every problem'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "show" -d 'Show the merged configuration and the file that set each value'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "diff" -d 'Show what differs between two configurations, and where each value is set; exit code 2 if there are differences'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "import" -d 'Print a configuration translated from a file of kubeadm or k0sctl; list on standard error what has no counterpart'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "schema" -d 'Print the JSON Schema (draft 2020-12) of the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from admit init validate show diff import schema help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from admit" -l master -d 'This machine is a master, which has the same configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from admit" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from admit" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from admit" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l file -d 'The file to write' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l master -d 'A master; the first one starts the cluster; repeatable. By default, this machine is the only one' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l worker -d 'A worker; without an address it joins on its own; repeatable' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l endpoint -d 'The load balancer or DNS name in front of the masters' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l virtual-address -d 'A free address of the masters\' network, which one master at a time holds for the API' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l ssh-user -d 'User with whom the first master logs in to the other machines' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l ssh-key -d 'Private key on the first master that logs in to the other machines' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l set -d 'Set a key to a YAML value, such as network.podCIDR=10.1.0.0/16; repeatable' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l full -d 'Write every key; keys that are not set appear as comments'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l yes -d 'Do not ask; without a terminal, nothing is asked anyway'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l force -d 'Replace an existing file'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -l origin -d 'Write the file and the line that set a value after it, as a comment' -r -f -a "true\t''
false\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -l machine -d 'Show what this machine applies: the values of its role and of its entry are merged over those of all machines' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -l raw -d 'Print what masters receive, for their /etc/nodeinit/config.yaml: with password hashes, without defaults and comments'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from diff" -l machine -d 'Compare what this machine applies of each configuration' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from diff" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from diff" -l clusters -d 'Take A and B as the names of clusters in this folder, as `--cluster` of other commands does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from diff" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from diff" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from import" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from import" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from schema" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from schema" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "admit" -d 'Print the digest of what all masters share of the configuration, if this machine admits the leading master, which runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write a configuration file with the settings that matter; on a terminal, ask for them'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "validate" -d 'Check the configuration and report every problem'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the merged configuration and the file that set each value'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Show what differs between two configurations, and where each value is set; exit code 2 if there are differences'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "import" -d 'Print a configuration translated from a file of kubeadm or k0sctl; list on standard error what has no counterpart'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "schema" -d 'Print the JSON Schema (draft 2020-12) of the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "list" -d 'List each program and image that a cluster with this configuration needs, and its source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "fetch" -d 'Fetch the programs and images that a cluster needs into a directory that serves as artifacts.source; an interrupted fetch resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "export" -d 'Export the artifacts of this master to a directory that serves as artifacts.source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "bundle" -d 'Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "inspect" -d 'Show what a bundle contains; reads only its index'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "verify" -d 'Verify that a bundle is complete and undamaged, and who signed it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -l version -d 'Use this release of Kubernetes instead of kubernetes.version' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l to -d 'The directory; its file artifacts.lock records the digests, and later fetches accept only these digests' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l registry-auth -d 'Read the logins of registries from a file in the format of `docker login`, with mode 0600' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l version -d 'Use this release of Kubernetes instead of kubernetes.version' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l to -d 'The directory to write, which serves as artifacts.source: new, empty, or from an earlier export' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -s o -l output -d 'The file to write, whose name ends in .tar; it serves as artifacts.source' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l from -d 'The directory that `artifacts fetch` filled; default: artifacts.source' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l sign-key -d 'Sign the index with this private key: ed25519, in OpenSSH\'s format, without a passphrase' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l signature -d 'Add this signature of the index, which `ssh-keygen -Y sign -n nodeinit-bundle` created' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l version -d 'Use this release of Kubernetes instead of kubernetes.version' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from inspect" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from inspect" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from inspect" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from verify" -l public-key -d 'The ed25519 public key that must have signed it, as in ~/.ssh/id_ed25519.pub' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "list" -d 'List each program and image that a cluster with this configuration needs, and its source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "fetch" -d 'Fetch the programs and images that a cluster needs into a directory that serves as artifacts.source; an interrupted fetch resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "export" -d 'Export the artifacts of this master to a directory that serves as artifacts.source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "bundle" -d 'Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'Show what a bundle contains; reads only its index'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Verify that a bundle is complete and undamaged, and who signed it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -f -a "generate" -d 'Generate a cluster\'s secrets: CAs and keys; never overwrites a file'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -f -a "inspect" -d 'Show fingerprints, subjects and expiry of a bundle\'s content, never a secret'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from generate" -l file -d 'The bundle' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from generate" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from generate" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from generate" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -l file -d 'The bundle' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from help" -f -a "generate" -d 'Generate a cluster\'s secrets: CAs and keys; never overwrites a file'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'Show fingerprints, subjects and expiry of a bundle\'s content, never a secret'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "create" -d 'Create a token and print it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "list" -d 'List tokens with their expiry, never their secrets'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "delete" -d 'Revoke a token; it never becomes valid again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l ttl -d 'Lifetime, such as 30m, 24h or 7d; default 24h, for a worker 1h' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l description -d 'The token\'s purpose' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l worker -d 'Create the token of one configured worker and revoke its earlier tokens; JSON output contains everything it needs to join' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l files -d 'Write that worker\'s /etc/nodeinit/config.yaml and secrets.yaml into this directory' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l all -d 'Also list used, expired and revoked tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l spent -d 'Delete the tokens of all workers that have joined'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "create" -d 'Create a token and print it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "list" -d 'List tokens with their expiry, never their secrets'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Revoke a token; it never becomes valid again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "list" -d 'List addons, whether the configuration enables them, and their status'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "apply" -d 'Apply an addon and wait until it is ready; without a name, all enabled addons'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "remove" -d 'Delete only the objects that nodeinit applied for an addon'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "list" -d 'List addons, whether the configuration enables them, and their status'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Apply an addon and wait until it is ready; without a name, all enabled addons'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Delete only the objects that nodeinit applied for an addon'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "check" -d 'List this machine\'s certificates with their expiry; exit code 1 if one has expired'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "renew" -d 'Renew certificates for their existing keys, with the CAs on this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "approve" -d 'Approve a node\'s pending requests for serving certificates that contain names unknown to the agent; run this on a master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from check" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from check" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "check" -d 'List this machine\'s certificates with their expiry; exit code 1 if one has expired'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "renew" -d 'Renew certificates for their existing keys, with the CAs on this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "approve" -d 'Approve a node\'s pending requests for serving certificates that contain names unknown to the agent; run this on a master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -f -a "members" -d 'List members: voters, leader, health'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -f -a "remove" -d 'Remove a member whose machine is gone, or a member that was added but never started'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -f -a "snapshot" -d 'Write a snapshot of etcd\'s data to a file on this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -f -a "defrag" -d 'Shrink the members\' databases, one member at a time, the leader last'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -f -a "alarms" -d 'List etcd\'s alarms, or disarm those of full databases'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -f -a "aside" -d 'Manage etcd data on this machine that nodeinit moved aside'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove snapshot defrag alarms aside help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l force -d 'Remove it even if it is healthy, or if etcd would lose its quorum'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from snapshot" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from snapshot" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from snapshot" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from snapshot" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from snapshot" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from snapshot" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l compact -d 'First compact: discard all old revisions; API servers and controllers then list all objects again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -f -a "list" -d 'List the data that was moved aside, with its size and the member that wrote it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -f -a "remove" -d 'Delete data that was moved aside; it cannot be restored'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "members" -d 'List members: voters, leader, health'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a member whose machine is gone, or a member that was added but never started'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "snapshot" -d 'Write a snapshot of etcd\'s data to a file on this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "defrag" -d 'Shrink the members\' databases, one member at a time, the leader last'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "alarms" -d 'List etcd\'s alarms, or disarm those of full databases'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "aside" -d 'Manage etcd data on this machine that nodeinit moved aside'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -f -a "stage" -d 'Copy the images of an upgrade to this machine; the leading master runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -f -a "etcd" -d 'Bring this master\'s etcd to the version that an upgrade needs; the leading master runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -f -a "plan" -d 'Show the changes of each machine in order, and what prevents the upgrade in the cluster and on this machine; exit code 2 if there are changes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -f -a "apply" -d 'Upgrade all machines to a version of Kubernetes, the masters one at a time; an interrupted upgrade resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -f -a "rollback" -d 'Return all machines of an unfinished upgrade to the version before it, workers first, by one minor version at most; an interrupted rollback resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and not __fish_seen_subcommand_from stage etcd plan apply rollback help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -l led -d 'The lease of the leading master, which runs this here' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from stage" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -l led -d 'The lease of the leading master, which runs this here' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from etcd" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -l parallel -d 'Change this many workers at a time, for example 3 or 10%; the default is `rollout.parallel`' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -l led -d 'The lease of the leading master, which runs this here' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -l local -d 'Change only this machine, and do not drain its node; for workers that the masters do not reach'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -l no-drain -d 'Cordon nodes, but do not evict their pods; containers continue to run'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -l parallel -d 'Change this many workers at a time, for example 3 or 10%; the default is `rollout.parallel`' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -l led -d 'The lease of the leading master, which runs this here' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -l local -d 'Change only this machine, and do not drain its node; for workers that the masters do not reach'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -l no-drain -d 'Cordon nodes, but do not evict their pods; containers continue to run'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l parallel -d 'Change this many workers at a time, for example 3 or 10%; the default is `rollout.parallel`' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l led -d 'The lease of the leading master, which runs this here' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l plan -d 'Show the changes of each machine in order, and change nothing; exit code 2 if there are changes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l local -d 'Change only this machine, and do not drain its node; for workers that the masters do not reach'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -l no-drain -d 'Cordon nodes, but do not evict their pods; containers continue to run'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from help" -f -a "stage" -d 'Copy the images of an upgrade to this machine; the leading master runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from help" -f -a "etcd" -d 'Bring this master\'s etcd to the version that an upgrade needs; the leading master runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show the changes of each machine in order, and what prevents the upgrade in the cluster and on this machine; exit code 2 if there are changes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Upgrade all machines to a version of Kubernetes, the masters one at a time; an interrupted upgrade resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from help" -f -a "rollback" -d 'Return all machines of an unfinished upgrade to the version before it, workers first, by one minor version at most; an interrupted rollback resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand upgrade; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "add" -d 'Add one configured machine to the cluster; run this on any master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "remove" -d 'Drain a machine, remove its etcd member, node and tokens; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "replace" -d 'Replace a machine by a new or wiped one: remove the former from the cluster, then add the new one; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l address -d 'Its address, if the configuration has none' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l force -d 'Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -l force -d 'Delete pods without a controller; keep trying to evict pods that a PodDisruptionBudget protects until `timeouts.node`'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from replace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "add" -d 'Add one configured machine to the cluster; run this on any master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Drain a machine, remove its etcd member, node and tokens; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "replace" -d 'Replace a machine by a new or wiped one: remove the former from the cluster, then add the new one; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "add" -d 'Add one configured machine to the cluster; run this on any master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "remove" -d 'Drain a machine, remove its etcd member, node and tokens; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "replace" -d 'Replace a machine by a new or wiped one: remove the former from the cluster, then add the new one; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l address -d 'Its address, if the configuration has none' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l force -d 'Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -l force -d 'Delete pods without a controller; keep trying to evict pods that a PodDisruptionBudget protects until `timeouts.node`'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from replace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "add" -d 'Add one configured machine to the cluster; run this on any master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Drain a machine, remove its etcd member, node and tokens; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "replace" -d 'Replace a machine by a new or wiped one: remove the former from the cluster, then add the new one; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -f -a "list" -d 'List the steps of this machine\'s role in order; JSON output includes their dependencies'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -f -a "run" -d 'Run one step; its dependencies must be done'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -l config -d 'A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins; `-` is standard input' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -l cluster -d 'Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml must exist' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -l role -d 'This machine\'s role; by default taken from the configuration' -r -f -a "first-master\t''
master\t''
worker\t''
bastion\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -s o -l output -d 'Output format' -r -f -a "text\t'Plain text'
json\t'One JSON object per line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Also write debug detail to standard error and to systemd\'s journal, as NODEINIT_LOG=debug does'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the steps of this machine\'s role in order; JSON output includes their dependencies'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run one step; its dependencies must be done'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "up" -d 'Bring this machine to the configured state; an interrupted run resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "plan" -d 'Show what `up` would do, without changing anything; exit code 2 if there are changes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "preflight" -d 'Report every problem of this machine with its fix; changes nothing'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "status" -d 'Show steps, component health, nodes and certificate expiry'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "timeline" -d 'Draw a timeline of a past run: when each step started and ended, on all machines of the run'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "reset" -d 'Undo everything that nodeinit did on this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "agent" -d 'Approve kubelets\' certificate requests until stopped; the service nodeinit-agent on masters runs it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "version" -d 'Print the version of nodeinit and the supported versions of Kubernetes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "completion" -d 'Print a completion script for a shell'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "config" -d 'Write, check and show the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "artifacts" -d 'List, fetch, export and bundle the programs and images that a cluster needs'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "secrets" -d 'Generate and inspect the cluster\'s secrets bundle'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "token" -d 'Manage bootstrap tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "addons" -d 'Manage optional addons'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "certs" -d 'Check and renew certificates'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "etcd" -d 'Inspect and maintain etcd'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "upgrade" -d 'Upgrade the cluster to another version of Kubernetes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "master" -d 'Add, remove or replace masters'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "worker" -d 'Add, remove or replace workers'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "phase" -d 'Run a single step (debugging)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status timeline reset agent version completion config artifacts secrets token addons certs etcd upgrade master worker phase help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "admit" -d 'Print the digest of what all masters share of the configuration, if this machine admits the leading master, which runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "init" -d 'Write a configuration file with the settings that matter; on a terminal, ask for them'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "validate" -d 'Check the configuration and report every problem'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Show the merged configuration and the file that set each value'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "diff" -d 'Show what differs between two configurations, and where each value is set; exit code 2 if there are differences'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "import" -d 'Print a configuration translated from a file of kubeadm or k0sctl; list on standard error what has no counterpart'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "schema" -d 'Print the JSON Schema (draft 2020-12) of the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "list" -d 'List each program and image that a cluster with this configuration needs, and its source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "fetch" -d 'Fetch the programs and images that a cluster needs into a directory that serves as artifacts.source; an interrupted fetch resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "export" -d 'Export the artifacts of this master to a directory that serves as artifacts.source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "bundle" -d 'Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "inspect" -d 'Show what a bundle contains; reads only its index'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "verify" -d 'Verify that a bundle is complete and undamaged, and who signed it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from secrets" -f -a "generate" -d 'Generate a cluster\'s secrets: CAs and keys; never overwrites a file'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from secrets" -f -a "inspect" -d 'Show fingerprints, subjects and expiry of a bundle\'s content, never a secret'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "create" -d 'Create a token and print it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "list" -d 'List tokens with their expiry, never their secrets'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "delete" -d 'Revoke a token; it never becomes valid again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from addons" -f -a "list" -d 'List addons, whether the configuration enables them, and their status'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from addons" -f -a "apply" -d 'Apply an addon and wait until it is ready; without a name, all enabled addons'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from addons" -f -a "remove" -d 'Delete only the objects that nodeinit applied for an addon'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from certs" -f -a "check" -d 'List this machine\'s certificates with their expiry; exit code 1 if one has expired'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from certs" -f -a "renew" -d 'Renew certificates for their existing keys, with the CAs on this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from certs" -f -a "approve" -d 'Approve a node\'s pending requests for serving certificates that contain names unknown to the agent; run this on a master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "members" -d 'List members: voters, leader, health'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "remove" -d 'Remove a member whose machine is gone, or a member that was added but never started'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "snapshot" -d 'Write a snapshot of etcd\'s data to a file on this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "defrag" -d 'Shrink the members\' databases, one member at a time, the leader last'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "alarms" -d 'List etcd\'s alarms, or disarm those of full databases'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "aside" -d 'Manage etcd data on this machine that nodeinit moved aside'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from upgrade" -f -a "stage" -d 'Copy the images of an upgrade to this machine; the leading master runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from upgrade" -f -a "etcd" -d 'Bring this master\'s etcd to the version that an upgrade needs; the leading master runs this'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from upgrade" -f -a "plan" -d 'Show the changes of each machine in order, and what prevents the upgrade in the cluster and on this machine; exit code 2 if there are changes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from upgrade" -f -a "apply" -d 'Upgrade all machines to a version of Kubernetes, the masters one at a time; an interrupted upgrade resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from upgrade" -f -a "rollback" -d 'Return all machines of an unfinished upgrade to the version before it, workers first, by one minor version at most; an interrupted rollback resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "add" -d 'Add one configured machine to the cluster; run this on any master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "remove" -d 'Drain a machine, remove its etcd member, node and tokens; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "replace" -d 'Replace a machine by a new or wiped one: remove the former from the cluster, then add the new one; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "add" -d 'Add one configured machine to the cluster; run this on any master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "remove" -d 'Drain a machine, remove its etcd member, node and tokens; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "replace" -d 'Replace a machine by a new or wiped one: remove the former from the cluster, then add the new one; run this on another master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from phase" -f -a "list" -d 'List the steps of this machine\'s role in order; JSON output includes their dependencies'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from phase" -f -a "run" -d 'Run one step; its dependencies must be done'
